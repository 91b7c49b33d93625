// SPDX-License-Identifier: Apache-2.0
#include "exe/reader_protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "test.h"

TEST(reader_protocol_checks_requests)
{
	struct reader_request request = { .op = READER_LINES, .files = 5, .count = 3 };
	size_t bytes = reader_request_bytes(3);

	EQ(reader_request_check(&request, bytes, 2), 0);
	EQ(reader_request_check(&request, bytes - 1, 2), -EBADMSG);
	EQ(reader_request_check(&request, bytes + 8, 2), -EBADMSG);
	EQ(reader_request_check(&request, 4, 2), -EBADMSG);
	EQ(reader_request_check(&request, bytes, 3), -EBADMSG);
	request.op = READER_ROWS;
	EQ(reader_request_check(&request, bytes, 2), -EBADMSG);
	request = (struct reader_request){ .op = READER_LINES, .files = 1, .count = LINES_MAX + 1 };
	EQ(reader_request_check(&request, reader_request_bytes(LINES_MAX + 1), 1), -EBADMSG);
	request.op = READER_SYMBOLS;
	EQ(reader_request_check(&request, reader_request_bytes(LINES_MAX + 1), 1), 0);
	request = (struct reader_request){ .op = READER_OPS, .files = 1 };
	EQ(reader_request_check(&request, reader_request_bytes(0), 1), -EBADMSG);
	request = (struct reader_request){ .op = READER_ROWS, .files = 2 };
	EQ(reader_request_check(&request, reader_request_bytes(0), 1), -EBADMSG);
	request = (struct reader_request){ .op = READER_ROWS, .files = 9 };
	EQ(reader_request_check(&request, reader_request_bytes(0), 2), -EBADMSG);
}

TEST(reader_protocol_checks_replies)
{
	struct reader_reply reply = { .bytes = 8 };

	EQ(reader_reply_check(&reply, sizeof(reply), 1), 0);
	EQ(reader_reply_check(&reply, sizeof(reply), 0), -EBADMSG);
	EQ(reader_reply_check(&reply, sizeof(reply) - 1, 1), -EBADMSG);
	reply.bytes = READER_ANSWER_MAX + 1;
	EQ(reader_reply_check(&reply, sizeof(reply), 1), -EBADMSG);
	reply = (struct reader_reply){ .error = -ENOEXEC };
	EQ(reader_reply_check(&reply, sizeof(reply), 0), 0);
	EQ(reader_reply_check(&reply, sizeof(reply), 1), -EBADMSG);
	reply.error = 1;
	EQ(reader_reply_check(&reply, sizeof(reply), 0), -EBADMSG);
}

TEST(reader_protocol_carries_messages_with_files)
{
	int pair[2], fds[READER_FILES] = { -1, -1, -1 };
	char got[16];
	u32 fd_count = 9;

	EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	EQ(reader_send(pair[0], "hello", 6, (int[]){ 0, 1 }, 2), 0);
	EQ(reader_receive(pair[1], got, sizeof(got), fds, &fd_count), 6);
	STREQ(got, "hello");
	EQ(fd_count, 2);
	OK(fds[0] > 2 && fds[1] > 2);
	close(pair[0]);
	EQ(reader_receive(pair[1], got, sizeof(got), fds, &fd_count), 0);
	EQ(fd_count, 0);
	EQ(reader_send(pair[1], "x", 1, NULL, 0), -EPIPE);
}

TEST(reader_protocol_unpacks_what_it_packed)
{
	_cleanup_(closep) int fd = -1;
	_cleanup_(freep) char *at = NULL;

	EQ(reader_pack("hello", 6, &fd), 0);
	EQ(reader_unpack(fd, 5, (void **)&at), -EBADMSG);
	EQ(reader_unpack(fd, 7, (void **)&at), -EBADMSG);
	test_alloc_fail(0);
	EQ(reader_unpack(fd, 6, (void **)&at), -ENOMEM);
	test_alloc_reset();
	EQ(reader_unpack(fd, 6, (void **)&at), 0);
	STREQ(at, "hello");
}

TEST(reader_protocol_takes_no_unsealed_answer)
{
	_cleanup_(closep) int fd = memfd_create("loose", MFD_ALLOW_SEALING), null = open("/dev/null", O_RDWR);
	void *at = NULL;

	EQ(write(fd, "hello", 6), 6);
	EQ(reader_unpack(fd, 6, &at), -EBADMSG);
	EQ(reader_unpack(null, 6, &at), -EBADMSG);
	OK(!at);
}

TEST(reader_protocol_checks_what_identify_says)
{
	struct exe_info info = { .segment_count = 1 };

	EQ(exe_info_check(&info, sizeof(info)), 0);
	EQ(exe_info_check(&info, sizeof(info) - 1), -EBADMSG);
	info.segment_count = SEGMENTS_MAX + 1;
	EQ(exe_info_check(&info, sizeof(info)), -EBADMSG);
	info = (struct exe_info){ .build_id_bytes = BUILD_ID_MAX + 1 };
	EQ(exe_info_check(&info, sizeof(info)), -EBADMSG);
	info = (struct exe_info){ 0 };
	memset(info.debuglink, 'x', sizeof(info.debuglink));
	EQ(exe_info_check(&info, sizeof(info)), -EBADMSG);
}
