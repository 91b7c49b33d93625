// SPDX-License-Identifier: Apache-2.0
#include "exe/reader_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/io.h"
#include "exe/probe_points.h"
#include "exe/rows_part.h"
#include "exe/tls_variable.h"

#define ANSWER_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static u32 addresses_max(u32 op)
{
	switch (op) {
	case READER_LINES:
		return LINES_MAX;
	case READER_SYMBOLS:
		return SYMBOLS_MAX;
	case READER_SWEEP:
	case READER_ROWS_PAGE:
		return ROWS_PART_EAS_MAX;
	case READER_PROBE_POINTS:
		return sizeof(struct probe_wanted) / sizeof(u64);
	case READER_LANG:
		return sizeof(struct tls_wanted) / sizeof(u64);
	default:
		return 0;
	}
}

int reader_request_check(const struct reader_request *request, size_t bytes, u32 fd_count)
{
	if (bytes < reader_request_bytes(0))
		return -EBADMSG;
	if (request->op >= READER_OPS || request->files >= 1u << READER_FILES || !(request->files & 1u << READER_EXE))
		return -EBADMSG;
	if (request->count > addresses_max(request->op) || bytes != reader_request_bytes(request->count))
		return -EBADMSG;
	return fd_count == (u32)__builtin_popcount(request->files) ? 0 : -EBADMSG;
}

int reader_reply_check(const struct reader_reply *reply, size_t bytes, u32 fd_count)
{
	if (bytes != sizeof(*reply))
		return -EBADMSG;
	if (reply->error)
		return reply->error < 0 && reply->error > -4096 && !fd_count ? 0 : -EBADMSG;
	return fd_count == 1 && reply->bytes && reply->bytes <= READER_ANSWER_MAX ? 0 : -EBADMSG;
}

static bool ends(const char *text, size_t max_bytes)
{
	return memchr(text, 0, max_bytes);
}

int exe_info_check(const struct exe_info *info, size_t bytes)
{
	if (bytes != sizeof(*info))
		return -EBADMSG;
	if (info->build_id_bytes > BUILD_ID_MAX || info->altlink_id_bytes > BUILD_ID_MAX)
		return -EBADMSG;
	if (info->segment_count > SEGMENTS_MAX)
		return -EBADMSG;
	return ends(info->go_build_id, sizeof(info->go_build_id)) && ends(info->debuglink, sizeof(info->debuglink)) &&
	       ends(info->altlink, sizeof(info->altlink)) ? 0 : -EBADMSG;
}

int reader_send(int socket_fd, const void *at, size_t bytes, const int *fds, u32 fd_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(READER_FILES * sizeof(int))];
	} control = { 0 };
	struct iovec part = { (void *)at, bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	if (fd_count) {
		struct cmsghdr *head = &control.align;

		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
		memcpy(CMSG_DATA(head), fds, fd_count * sizeof(int));
		message.msg_control = head;
		message.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
	}
	return sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

ssize_t reader_receive(int socket_fd, void *at, size_t max_bytes, int fds[READER_FILES], u32 *ret_fd_count)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(READER_FILES * sizeof(int))];
	} control;
	struct iovec part = { at, max_bytes };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1,
				  .msg_control = &control, .msg_controllen = sizeof(control) };
	struct cmsghdr *head;
	u32 count = 0;
	ssize_t got;

	do
		got = recvmsg(socket_fd, &message, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS) {
		count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(fds, CMSG_DATA(head), count * sizeof(int));
	}
	*ret_fd_count = count;
	return got;
}

int reader_pack(const void *at, size_t bytes, int *ret_fd)
{
	_cleanup_(closep) int fd = memfd_create("wick answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int r;

	if (fd < 0)
		return -errno;
	r = io_write_all(fd, at, bytes);
	if (r < 0)
		return r;
	if (fcntl(fd, F_ADD_SEALS, ANSWER_SEALS) < 0)
		return -errno;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int reader_unpack(int fd, size_t bytes, void **ret_at)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat stat;
	void *at;

	/* Only memory files have seals: with them, reading neither blocks nor races. */
	if (seals < 0 || (seals & ANSWER_SEALS) != ANSWER_SEALS)
		return -EBADMSG;
	if (fstat(fd, &stat) < 0 || (u64)stat.st_size != bytes)
		return -EBADMSG;
	at = malloc(bytes);
	if (!at)
		return -ENOMEM;
	if (pread(fd, at, bytes, 0) != (ssize_t)bytes) {
		free(at);
		return -EBADMSG;
	}
	*ret_at = at;
	return 0;
}
