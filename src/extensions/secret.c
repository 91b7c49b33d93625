// SPDX-License-Identifier: Apache-2.0
#include "extensions/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#define LOOK_NS 1000000000ull

struct secret_digest secret_digest(const void *at, size_t len)
{
	struct secret_digest digest;
	struct sha256 sha;

	sha256_init(&sha);
	sha256_add(&sha, at, len);
	sha256_end(&sha, digest.bytes);
	return digest;
}

bool secret_equal(const struct secret_digest *a, const struct secret_digest *b)
{
	return CRYPTO_memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

void secret_file_init(struct secret_file *file, const char *path)
{
	*file = (struct secret_file){ .path = path };
	buf_init(&file->text, SECRET_FILE_MAX + 1);
}

void secret_file_done(struct secret_file *file)
{
	if (file->text.data)
		OPENSSL_cleanse(file->text.data, file->text.cap);
	buf_done(&file->text);
}

static bool is_unchanged(const struct secret_file *file, const struct stat *st)
{
	return file->text.data && st->st_ino == file->inode && st->st_mtim.tv_sec == file->changed.tv_sec &&
	       st->st_mtim.tv_nsec == file->changed.tv_nsec;
}

int secret_file_look(struct secret_file *file, u64 now_ns)
{
	_cleanup_(closep) int fd = -1;
	struct stat st;
	struct buf text;
	int r;

	if (file->text.data && now_ns - file->looked_ns < LOOK_NS)
		return 0;
	file->looked_ns = now_ns;
	fd = open(file->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (is_unchanged(file, &st))
		return 0;
	buf_init(&text, SECRET_FILE_MAX + 1);
	r = io_read_whole(fd, &text);
	buf_addf(&text, "%s", "");
	if (r == 0)
		r = buf_err(&text);
	if (r < 0) {
		buf_done(&text);
		return r;
	}
	secret_file_done(file);
	file->text = text;
	file->changed = st.st_mtim;
	file->inode = st.st_ino;
	return 1;
}
