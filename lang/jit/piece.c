// SPDX-License-Identifier: Apache-2.0
#include "lang/jit/piece.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/offload.h"
#include "lang/lang.h"
#include "proc/peek.h"
#include "proc/root_file.h"

struct piece_call {
	struct offload_call call;
	char name[PIECE_NAME_MAX];
	uid_t uid;
	struct piece_file known;
	size_t cap;
	struct piece piece;
};

void piece_donep(struct piece *piece)
{
	free(piece->at);
}

static int check(const struct piece_call *e, const struct stat *st)
{
	return st->st_uid == e->uid || st->st_uid == 0 ? 0 : -EPERM;
}

/* No more than there is: a look finds nothing new, mostly. */
static int read_bytes(int fd, size_t cap, struct piece *piece)
{
	off_t left = piece->file_bytes - piece->file.done;
	ssize_t got;

	if (left <= 0 || !cap)
		return 0;
	if ((off_t)cap > left)
		cap = (size_t)left;
	piece->at = malloc(cap);
	if (!piece->at)
		return -ENOMEM;
	got = pread(fd, piece->at, cap, piece->file.done);
	if (got < 0)
		return -errno;
	piece->bytes = (size_t)got;
	return 0;
}

/* By a name in its root: a link on the way there that begins with / leads on from there, not from our root. */
static int open_name(const struct piece_call *e)
{
	_cleanup_(closep) int root_fd = root_file_root_of(e->call.pid);

	return root_fd < 0 ? root_fd : root_file_open_nofollow(root_fd, e->name);
}

static int run(struct offload_call *call)
{
	struct piece_call *e = (struct piece_call *)call;
	_cleanup_(closep) int fd = open_name(e);
	struct stat st;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (check(e, &st) < 0)
		return -EPERM;
	e->piece.is_known = e->known.inode == st.st_ino && e->known.device == st.st_dev && st.st_size >= e->known.done;
	e->piece.file = (struct piece_file){ st.st_dev, st.st_ino, e->piece.is_known ? e->known.done : 0 };
	e->piece.is_cut = st.st_size > PIECE_FILE_BYTES_MAX;
	e->piece.file_bytes = e->piece.is_cut ? PIECE_FILE_BYTES_MAX : st.st_size;
	return read_bytes(fd, e->cap, &e->piece);
}

static void drop(struct offload_call *call)
{
	piece_donep(&((struct piece_call *)call)->piece);
}

int piece_read(const struct lang_process *process, uid_t uid, const char *name, const struct piece_file *known,
	       size_t cap, struct piece *ret_piece)
{
	struct piece_call *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	e->call = (struct offload_call){ peek_process(process->serial), run, drop, process->pid };
	(void)snprintf(e->name, sizeof(e->name), "%s", name);
	e->uid = uid;
	e->known = *known;
	e->cap = cap;
	r = peek_run(process->peek, &e->call);
	if (r == -ETIMEDOUT)
		return r;
	if (r == 0)
		*ret_piece = e->piece;
	else
		drop(&e->call);
	free(e);
	return r;
}
