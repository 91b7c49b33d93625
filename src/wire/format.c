// SPDX-License-Identifier: Apache-2.0
#include "wire/format.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "wire/compression.h"

/* How much of a compressed file is looked at to tell its format. */
#define SNIFF_BYTES ((size_t)64 << 10)
#define READ_STEP ((size_t)1 << 20)
#define WRITE_BYTES_MAX ((size_t)8 << 30)

#define FORMAT(name) extern const struct format_ops format_##name;
#include "wire/list.h"
#undef FORMAT

const struct format_ops *const formats[] = {
#define FORMAT(name) &format_##name,
#include "wire/list.h"
#undef FORMAT
	NULL,
};

/* ---- Which format ---------------------------------------------------------- */

const struct format_ops *format_by_name(const char *name)
{
	for (size_t i = 0; formats[i]; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && !strcmp(text + len - end_len, end);
}

const struct format_ops *format_by_path(const char *path)
{
	static const char *const packed[] = { "", ".gz", ".zst" };
	const struct format_ops *best = NULL;
	size_t longest = 0;
	char end[32];

	for (size_t i = 0; formats[i]; i++)
		for (size_t k = 0; formats[i]->suffixes[k]; k++)
			for (size_t n = 0; n < sizeof(packed) / sizeof(*packed); n++) {
				snprintf(end, sizeof(end), "%s%s", formats[i]->suffixes[k], packed[n]);
				if (strlen(end) > longest && ends_with(path, end)) {
					longest = strlen(end);
					best = formats[i];
				}
			}
	return best;
}

static const struct format_ops *format_of_plain(const void *at, size_t bytes)
{
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->sniff && formats[i]->sniff(at, bytes))
			return formats[i];
	return NULL;
}

const struct format_ops *format_by_content(const void *at, size_t bytes)
{
	enum compression kind = compression_of(at, bytes);
	_cleanup_(buf_done) struct buf plain = { 0 };

	if (kind == COMPRESSION_NONE)
		return format_of_plain(at, bytes);
	/* A first part is enough: that the buffer fills up is no error here. */
	buf_init(&plain, SNIFF_BYTES);
	(void)compression_unpack(kind, at, bytes, &plain);
	return format_of_plain(plain.data, plain.len);
}

/* ---- Reading --------------------------------------------------------------- */

static int read_path(const char *path, struct buf *out)
{
	_cleanup_(closep) int fd = -1;

	if (!strcmp(path, "-"))
		return io_read_whole(STDIN_FILENO, out);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : io_read_whole(fd, out);
}

/* Contents without compression. */
static int read_plain(const char *path, size_t max_bytes, struct buf *ret_plain)
{
	_cleanup_(buf_done) struct buf raw;
	enum compression kind;
	int r;

	buf_init(&raw, max_bytes);
	r = read_path(path, &raw);
	if (r < 0)
		return r;
	kind = compression_of(raw.data, raw.len);
	if (kind != COMPRESSION_NONE)
		return compression_unpack(kind, raw.data, raw.len, ret_plain);
	*ret_plain = raw;
	raw = (struct buf){ 0 };
	return 0;
}

/* Contents decide. But JSON that is only written looks like other JSON: there the name does. */
static const struct format_ops *by_contents_and_name(const void *at, size_t bytes, const char *path)
{
	const struct format_ops *named = format_by_path(path), *found = format_of_plain(at, bytes);

	return found && (!named || named->decode) ? found : named;
}

static int check_read(const struct format_ops *format)
{
	if (!format)
		return -EBADMSG;
	return format->decode ? 0 : -EOPNOTSUPP;
}

int format_read_bytes(const void *at, size_t bytes, const char *name, size_t max_bytes,
		      const struct format_ops **ret_format, struct profile **ret_profile)
{
	enum compression kind = compression_of(at, bytes);
	_cleanup_(buf_done) struct buf plain;
	const struct format_ops *format;
	int r = 0;

	buf_init(&plain, max_bytes);
	if (kind != COMPRESSION_NONE) {
		r = compression_unpack(kind, at, bytes, &plain);
		at = plain.data;
		bytes = plain.len;
	}
	if (r < 0)
		return r;
	format = by_contents_and_name(at, bytes, name);
	*ret_format = format;
	r = check_read(format);
	return r < 0 ? r : format->decode(at, bytes, ret_profile);
}

int format_load_file(const char *path, const struct format_ops **format, size_t max_bytes, struct buf *ret_plain)
{
	_cleanup_(buf_done) struct buf plain;
	int r;

	buf_init(&plain, max_bytes);
	r = read_plain(path, max_bytes, &plain);
	if (r < 0)
		return r;
	if (!*format)
		*format = by_contents_and_name(plain.data, plain.len, path);
	r = check_read(*format);
	if (r < 0)
		return r;
	*ret_plain = plain;
	plain = (struct buf){ 0 };
	return 0;
}

int format_read_file(const char *path, const struct format_ops *format, size_t max_bytes,
		     struct profile **ret_profile)
{
	_cleanup_(buf_done) struct buf plain = { 0 };
	int r = format_load_file(path, &format, max_bytes, &plain);

	return r < 0 ? r : format->decode(plain.data, plain.len, ret_profile);
}

/* ---- Writing --------------------------------------------------------------- */

/* Under sudo the file belongs to whoever called it. */
static void give_to_sudo_user(int fd)
{
	const char *uid_text = getenv("SUDO_UID"), *gid_text = getenv("SUDO_GID");
	char *uid_end, *gid_end;
	unsigned long uid, gid;

	if (geteuid() != 0 || !uid_text || !gid_text)
		return;
	uid = strtoul(uid_text, &uid_end, 10);
	gid = strtoul(gid_text, &gid_end, 10);
	if (uid_end == uid_text || *uid_end || gid_end == gid_text || *gid_end || uid >= UINT32_MAX ||
	    gid >= UINT32_MAX)
		return;
	/* A file system without owners is no reason to lose the profile. */
	(void)!fchown(fd, (uid_t)uid, (gid_t)gid);
}

/* Written aside and renamed, so that nobody sees half a file and an old one stays until the new one is whole. */
static int write_aside(const char *path, const struct buf *bytes)
{
	_cleanup_(buf_done) struct buf aside;
	_cleanup_(closep) int fd = -1;
	int r;

	buf_init(&aside, 2 * PATH_MAX);
	buf_addf(&aside, "%s.XXXXXX", path);
	if (buf_err(&aside))
		return buf_err(&aside) == -E2BIG ? -ENAMETOOLONG : buf_err(&aside);
	fd = mkostemp(aside.data, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	give_to_sudo_user(fd);
	r = io_write_all(fd, bytes->data, bytes->len);
	if (r == 0 && rename(aside.data, path) < 0)
		r = -errno;
	if (r < 0)
		unlink(aside.data);
	return r;
}

/* Pipes, devices and symbolic links (/dev/stdout) are written through, never replaced. */
static int write_path(const char *path, const struct buf *bytes)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;

	if (!strcmp(path, "-"))
		return io_write_all(STDOUT_FILENO, bytes->data, bytes->len);
	if (lstat(path, &st) < 0) {
		if (errno != ENOENT)
			return -errno;
		return write_aside(path, bytes);
	}
	if (S_ISREG(st.st_mode))
		return write_aside(path, bytes);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
	return fd < 0 ? -errno : io_write_all(fd, bytes->data, bytes->len);
}

static enum compression compression_for(const char *path, const struct format_ops *format)
{
	if (ends_with(path, ".zst"))
		return COMPRESSION_ZSTD;
	return ends_with(path, ".gz") || format->is_gzipped ? COMPRESSION_GZIP : COMPRESSION_NONE;
}

int format_write_file(const char *path, const struct format_ops *format, const struct profile *profile)
{
	_cleanup_(buf_done) struct buf plain, packed;
	enum compression kind = compression_for(path, format);
	int r;

	buf_init(&plain, WRITE_BYTES_MAX);
	buf_init(&packed, WRITE_BYTES_MAX);
	r = format->encode(profile, &plain);
	if (r < 0)
		return r;
	if (kind == COMPRESSION_NONE)
		return write_path(path, &plain);
	r = compression_pack(kind, plain.data, plain.len, &packed);
	return r < 0 ? r : write_path(path, &packed);
}
