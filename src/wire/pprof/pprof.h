/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile.proto, one file for a whole profile.
 *
 * pprof knows neither resources nor links: they become labels of each sample,
 * under the names of pprof_names below, and are taken back from there. What
 * it cannot hold (times, scopes, profile ids, frame types, nested values) is
 * dropped or becomes text.
 *
 *	our set samples/count, period cpu/nanoseconds	two sample types: samples/count, cpu/nanoseconds
 *	our sets of one scope with equal sample lists	one sample with several values
 *	any other set					samples of their own, 0 for other types
 */
#ifndef WIRE_PPROF_H
#define WIRE_PPROF_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/str.h"
#include "base/types.h"

struct profile;

int pprof_decode(const void *at, size_t bytes, struct profile **ret_profile);
int pprof_encode(const struct profile *profile, struct buf *out);

/* Names that are others in pprof: of attributes, which become labels; of sample types. */
struct pprof_name {
	const char *attribute, *label;
};

/* How a backend wants its pprof, where that differs from what pprof itself shows best. Lists are ended by NULLs. */
struct pprof_dialect {
	const struct pprof_name *labels;	/* instead of pprof_names */
	bool other_resources;			/* attributes of resources that `labels` lacks are labels, too */
	bool text_only;				/* labels are text: numbers are spelled out */
	const char *id_attribute;		/* an id of 16 hexadecimal digits, wanted in decimal; or NULL */
	const char *span_label;			/* of the span's id, as a decimal number; NULL: PPROF_SPAN_ID, in hex */
	const char *(*type_name)(struct str type);	/* of sample types and periods; gives NULL: as they are */
	const char *default_type;		/* if there is such a sample type and the profile names none; or NULL */
};
int pprof_encode_as(const struct profile *profile, const struct pprof_dialect *dialect, struct buf *out);

/* ---- Shared by both directions -------------------------------------------- */

/* Attributes that users of pprof know under a shorter name. */
extern const struct pprof_name pprof_names[];	/* ended by NULLs */

/* Does an attribute of this name describe the process or host, not the sample? */
bool pprof_is_resource(const char *attribute, size_t len);

/* The flags of a mapping and the attributes that stand for them. */
#define PPROF_MAPPING_FLAGS 4
extern const char *const pprof_flag_names[PPROF_MAPPING_FLAGS];	/* of fields 7, 8, 9, 10 */

#define PPROF_BUILD_ID_GNU "process.executable.build_id.gnu"
#define PPROF_BUILD_ID_GO "process.executable.build_id.go"
#define PPROF_BUILD_ID_HTLHASH "process.executable.build_id.htlhash"
#define PPROF_COMMENT "pprof.profile.comment"
#define PPROF_DOC_URL "pprof.profile.doc_url"
#define PPROF_DROP_FRAMES "pprof.profile.drop_frames"
#define PPROF_KEEP_FRAMES "pprof.profile.keep_frames"
#define PPROF_DEFAULT_TYPE "pprof.scope.default_sample_type"
#define PPROF_IS_FOLDED "pprof.location.is_folded"
#define PPROF_TRACE_ID "trace_id"
#define PPROF_SPAN_ID "span_id"

#endif
