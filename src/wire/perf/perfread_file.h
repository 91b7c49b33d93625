/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a perf.data file (wire/perf/perfdata.h), one after another, in
 * the order of the file: in file mode and in pipe mode, packed or not.
 *
 *  - Borrows the file's bytes, which must outlive it.
 *  - What is packed (perf record -z) is unpacked as it is come to, to
 *    PERFREAD_UNPACKED_MAX bytes in all, and kept: a record stays where it is.
 *  - A file that ends too early, or makes no sense from some place on, ends
 *    there: is_cut.
 */
#ifndef WIRE_PERFREAD_FILE_H
#define WIRE_PERFREAD_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/cursor.h"
#include "base/types.h"
#include "wire/perf/perfdata.h"

#define PERFREAD_UNPACKED_MAX ((size_t)2 << 30)

struct ZSTD_DCtx_s;

struct perfread_record {
	u32 type;
	u16 misc;
	u64 place;		/* for perfread_file_record() */
	struct cursor body;	/* good until the next record is read */
};

struct perfread_file {
	const u8 *at;
	u64 bytes;
	bool is_pipe, is_cut;
	struct perfdata_header header;	/* zeroed in pipe mode */
	u64 next, end;			/* of the records, in the file */
	struct buf unpacked;
	size_t unpacked_next;
	struct ZSTD_DCtx_s *zstd;
	u64 trace_bytes;		/* of hardware traces, passed over */
};

/* -EBADMSG: it is not perf.data; -EPROTONOSUPPORT: it is, of a machine with the other order of bytes, or too old. */
int perfread_file_init(struct perfread_file *file, const void *at, size_t bytes);
void perfread_file_done(struct perfread_file *file);

/* The next record. 1, 0 at the end, or -ENOMEM. */
int perfread_file_next(struct perfread_file *file, struct perfread_record *ret_record);

/* A record that was read before. */
struct perfread_record perfread_file_record(const struct perfread_file *file, u64 place);

/* In file mode: an entry of the attributes: attr and ids. False: there is none of that number. */
bool perfread_file_attr(const struct perfread_file *file, u32 number, struct cursor *ret_attr,
			  struct cursor *ret_ids);

/* In file mode: what is known of a feature. False: the file does not have it. */
bool perfread_file_feature(const struct perfread_file *file, u32 feature, struct cursor *ret_bytes);

#endif
