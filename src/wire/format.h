/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file formats: one struct format_ops each, listed in wire/list.h. To add
 * one: write wire/<name>.c with a struct format_ops named format_<name>, add
 * FORMAT(name) to the list. A format that is only written has neither sniff nor
 * decode.
 *
 * Readers take untrusted bytes: they bound memory by the size of the input,
 * never trust an index, and return -EBADMSG for what they cannot read.
 */
#ifndef WIRE_FORMAT_H
#define WIRE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct profile;

struct format_ops {
	const char *name;		/* as in --format=NAME */
	const char *help;
	const char *content_type;
	const char *const *suffixes;	/* ".otlp", ...; ended by NULL; a further .gz or .zst is understood */
	bool is_binary;			/* not for terminals */
	bool is_gzipped;		/* its readers expect gzip whatever the name */
	bool (*sniff)(const void *at, size_t bytes);	/* does it look like this format? */
	int (*decode)(const void *at, size_t bytes, struct profile **ret_profile);
	int (*encode)(const struct profile *profile, struct buf *out);
};

/* All formats in the order of list.h, then NULL. */
extern const struct format_ops *const formats[];

/* By name, or NULL. */
const struct format_ops *format_by_name(const char *name);

/* By the end of a file's name, or NULL: of several the longest counts (.speedscope.json is not .json). */
const struct format_ops *format_by_path(const char *path);

/* By contents (gzip and zstd are looked through), or NULL. */
const struct format_ops *format_by_content(const void *at, size_t bytes);

/*
 * Reads a whole file ("-": standard input), of at most max_bytes also after
 * decompression. *format is NULL or wished for, and then what it is in.
 * -EOPNOTSUPP: that is only written.
 */
int format_load_file(const char *path, const struct format_ops **format, size_t max_bytes, struct buf *ret_plain);

/* The same, and decodes it. format may be NULL. */
int format_read_file(const char *path, const struct format_ops *format, size_t max_bytes,
		     struct profile **ret_profile);

/*
 * The same of bytes that are at hand; name: what the file is called, "" if that is not known. *ret_format is told
 * whenever it is known, also if it could not be read.
 */
int format_read_bytes(const void *at, size_t bytes, const char *name, size_t max_bytes,
		      const struct format_ops **ret_format, struct profile **ret_profile);

/*
 * Writes a file ("-": standard output). Written aside and renamed, mode 0600,
 * owned by SUDO_UID where that is set. Gzipped if the name ends in .gz, or the
 * format is always; zstd if it ends in .zst.
 */
int format_write_file(const char *path, const struct format_ops *format, const struct profile *profile);

#endif
