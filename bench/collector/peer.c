/* SPDX-License-Identifier: Apache-2.0 */
#include "peer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

void peer_die(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

void peer_send(int fd, const void *at, size_t bytes)
{
	const char *from = at;

	while (bytes) {
		ssize_t n = send(fd, from, bytes, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			peer_die("send: %s", strerror(errno));
		from += n;
		bytes -= (size_t)n;
	}
}

size_t peer_receive(int fd, void *at, size_t max)
{
	ssize_t n;

	do
		n = recv(fd, at, max, 0);
	while (n < 0 && errno == EINTR);
	return n < 0 ? 0 : (size_t)n;
}

void peer_begin_session(nghttp2_session *session)
{
	const nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, PEER_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1000 },
		{ NGHTTP2_SETTINGS_MAX_FRAME_SIZE, 1 << 20 },
	};

	if (nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, settings, 3) ||
	    nghttp2_session_set_local_window_size(session, NGHTTP2_FLAG_NONE, 0, PEER_WINDOW))
		peer_die("HTTP/2 session");
}

static void flush_session(nghttp2_session *session, int fd)
{
	const unsigned char *data;
	ssize_t n;

	while ((n = nghttp2_session_mem_send(session, &data)) > 0)
		peer_send(fd, data, (size_t)n);
	if (n < 0)
		peer_die("HTTP/2: %s", nghttp2_strerror((int)n));
}

bool peer_turn_session(nghttp2_session *session, int fd, void *buffer, size_t max)
{
	ssize_t taken;
	size_t n;

	flush_session(session, fd);
	if (!nghttp2_session_want_read(session))
		return false;
	n = peer_receive(fd, buffer, max);
	if (!n)
		return false;
	taken = nghttp2_session_mem_recv(session, buffer, n);
	if (taken < 0)
		peer_die("HTTP/2: %s", nghttp2_strerror((int)taken));
	return true;
}

size_t peer_header_bytes(const char *at, size_t bytes)
{
	const char *end = memmem(at, bytes, "\r\n\r\n", 4);

	return end ? (size_t)(end - at) + 4 : 0;
}

long peer_header_number(const char *at, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = strstr(at, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n"))
		if (!strncasecmp(line + 2, name, length) && line[2 + length] == ':')
			return strtol(line + 3 + length, NULL, 10);
	return -1;
}
