// SPDX-License-Identifier: Apache-2.0
/*
 * The reader process: takes a request, parses the files that came with it, answers, forgets them; all but the last few
 * with DWARF (exe/dwarf_files.h), and those if no request comes for a while.
 */
#include "exe/reader_protocol.h"
#include "exe/reader_rest.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/program_pages.h"
#include "exe/confine.h"
#include "exe/elf.h"
#include "exe/identify.h"
#include "exe/inlines.h"
#include "exe/lang_file.h"
#include "exe/portable_pdb.h"
#include "exe/probe_points.h"
#include "exe/rows.h"
#include "exe/rows_compile.h"
#include "exe/rows_mark.h"
#include "exe/rows_part.h"
#include "exe/source_map.h"
#include "exe/symbols_build.h"

/* Freed memory above this goes back to the kernel: the process is idle most of its life. */
#define KEPT_BYTES (256 << 10)

/* After so long without a request what was kept is looked through. */
#define IDLE_SECONDS 30

/* One call for lines takes little longer than this, so that others get their turn. */
#define LINES_BUDGET_NS 250000000ull

struct server {
	int socket_fd;
	const struct lang_file_ops *const *langs;
	struct inlines *inlines;	/* from the first call for lines on */
};

struct answer {
	void *at;
	size_t bytes;
};

/* Open files of a request, -1 where there is none, and who is asked about them. */
struct files {
	int fd[READER_FILES];
	const struct lang_file_ops *const *langs;
};

static int answer_identify(const struct files *files, struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct exe_info *info;
	int r = exe_map(files->fd[READER_EXE], files->langs, &exe);

	if (r < 0)
		return r;
	info = calloc(1, sizeof(*info));
	if (!info)
		return -ENOMEM;
	exe_identify(exe, info);
	*ret_answer = (struct answer){ info, sizeof(*info) };
	return 0;
}

/* The executable and, if it came along and is one that can be read, its debug file. */
static int open_both(const struct files *files, struct exe **ret_exe, struct exe **ret_debug)
{
	int r = exe_map(files->fd[READER_EXE], files->langs, ret_exe);

	if (r == 0 && files->fd[READER_DEBUG] >= 0)
		(void)exe_map(files->fd[READER_DEBUG], files->langs, ret_debug);
	return r;
}

static int answer_rows(const struct files *files, struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL, *debug = NULL;
	struct rows *rows = NULL;
	int r = open_both(files, &exe, &debug);

	if (r == 0)
		r = rows_compile_within(exe, debug, ROWS_WHOLE_MAX, &rows);
	if (r == 0)
		r = rows_mark_file(exe, &rows);
	if (r == 0)
		*ret_answer = (struct answer){ rows, rows->bytes };
	else
		free(rows);
	return r;
}

static int answer_part(const struct reader_request *request, const struct files *files, struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	struct rows_part part = { .is_unread = request->op == READER_ROWS_PAGE, .count = request->count };
	struct rows *rows = NULL;
	int r = exe_map(files->fd[READER_EXE], files->langs, &exe);

	memcpy(part.ea, request->ea, request->count * sizeof(*part.ea));
	if (r == 0)
		r = rows_part_compile(exe, &part, &rows);
	if (r == 0)
		*ret_answer = (struct answer){ rows, rows->bytes };
	return r;
}

static int answer_lang(const struct reader_request *request, const struct files *files, struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct lang_file *file = calloc(1, sizeof(*file));
	struct tls_wanted wanted;
	int r = file ? exe_map(files->fd[READER_EXE], files->langs, &exe) : -ENOMEM;

	if (request->count != sizeof(wanted) / sizeof(u64))
		return -EBADMSG;
	memcpy(&wanted, request->ea, sizeof(wanted));
	if (r == 0)
		r = lang_file_find(exe, &wanted, file);
	if (r == 0)
		*ret_answer = (struct answer){ TAKE(file), sizeof(*file) };
	return r;
}

static int answer_probe_points(const struct reader_request *request, const struct files *files,
			       struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL;
	_cleanup_(freep) struct probe_points *points = calloc(1, sizeof(*points));
	struct probe_wanted wanted;
	int r = points ? exe_map(files->fd[READER_EXE], files->langs, &exe) : -ENOMEM;

	if (request->count != sizeof(wanted) / sizeof(u64))
		return -EBADMSG;
	memcpy(&wanted, request->ea, sizeof(wanted));
	if (r == 0)
		r = probe_points_find(exe, &wanted, points);
	if (r == 0)
		*ret_answer = (struct answer){ TAKE(points), sizeof(*points) };
	return r;
}

static int answer_source_map(const struct files *files, struct answer *ret_answer)
{
	_cleanup_(freep) void *text = NULL;
	struct source_map *map = NULL;
	struct stat st;
	int r;

	if (fstat(files->fd[READER_EXE], &st) < 0 || st.st_size <= 0 || st.st_size > SOURCE_MAP_FILE_MAX)
		return -EBADMSG;
	r = reader_unpack(files->fd[READER_EXE], (size_t)st.st_size, &text);
	if (r == 0)
		r = portable_pdb_may_be(text, (size_t)st.st_size) ?
			    portable_pdb_build(text, (size_t)st.st_size, &map) :
			    source_map_build(text, (size_t)st.st_size, &map);
	if (r == 0)
		*ret_answer = (struct answer){ map, map->bytes };
	return r;
}

static int answer_symbols(const struct reader_request *request, const struct files *files, struct answer *ret_answer)
{
	_cleanup_(exe_freep) struct exe *exe = NULL, *debug = NULL;
	struct symbols *symbols = NULL;
	int r = open_both(files, &exe, &debug);

	if (r == 0)
		r = symbols_build(exe, debug, request->ea, request->count, &symbols);
	if (r == 0)
		*ret_answer = (struct answer){ symbols, symbols->bytes };
	return r;
}

static int answer_lines(struct server *server, const struct reader_request *request, const struct files *files,
			struct answer *ret_answer)
{
	struct exe_lines *lines = NULL;
	int r;

	if (!server->inlines)
		server->inlines = inlines_new(server->langs);
	if (!server->inlines)
		return -ENOMEM;
	r = inlines_find(server->inlines, files->fd[READER_EXE], files->fd[READER_DEBUG], files->fd[READER_ALT],
			 request->ea, request->count, LINES_BUDGET_NS, &lines);
	if (r == 0)
		*ret_answer = (struct answer){ lines, lines->bytes };
	return r;
}

static int answer_request(struct server *server, const struct reader_request *request, const struct files *files,
			  struct answer *ret_answer)
{
	switch (request->op) {
	case READER_IDENTIFY:
		return answer_identify(files, ret_answer);
	case READER_ROWS:
		return answer_rows(files, ret_answer);
	case READER_SYMBOLS:
		return answer_symbols(request, files, ret_answer);
	case READER_LINES:
		return answer_lines(server, request, files, ret_answer);
	case READER_LANG:
		return answer_lang(request, files, ret_answer);
	case READER_SOURCE_MAP:
		return answer_source_map(files, ret_answer);
	case READER_SWEEP:
	case READER_ROWS_PAGE:
		return answer_part(request, files, ret_answer);
	case READER_PROBE_POINTS:
		return answer_probe_points(request, files, ret_answer);
	default:
		return -EOPNOTSUPP;
	}
}

static int send_answer(int socket_fd, int error, const struct answer *answer)
{
	struct reader_reply reply = { .error = error, .bytes = error ? 0 : answer->bytes };
	_cleanup_(closep) int fd = -1;

	if (!reply.error && answer->bytes > READER_ANSWER_MAX)
		reply = (struct reader_reply){ .error = -E2BIG };
	if (!reply.error)
		reply.error = reader_pack(answer->at, answer->bytes, &fd);
	return reader_send(socket_fd, &reply, sizeof(reply), &fd, reply.error ? 0 : 1);
}

/* Between requests: gives memory back. */
static void rest(struct server *server)
{
	if (server->inlines)
		inlines_rest(server->inlines);
}

/* 1 after a request was answered or none came for a while, 0 when there will be no more, or -errno. */
static int serve_request(struct server *server)
{
	struct files files = { { -1, -1, -1 }, server->langs };
	struct answer answer = { 0 };
	union {
		struct reader_request request;
		char bytes[READER_REQUEST_MAX];
	} in;
	int fds[READER_FILES], r;
	u32 fd_count = 0, next = 0;
	ssize_t got = reader_receive(server->socket_fd, &in, sizeof(in), fds, &fd_count);

	if (got == -EAGAIN) {
		rest(server);
		return 1;
	}
	if (got <= 0)
		return got;
	r = reader_request_check(&in.request, got, fd_count);
	if (r < 0)
		return r;
	for (int place = 0; place < READER_FILES; place++)
		if (in.request.files & 1u << place)
			files.fd[place] = fds[next++];
	reader_rest_set_alarm(2 * READER_SECONDS);
	r = answer_request(server, &in.request, &files, &answer);
	for (u32 i = 0; i < fd_count; i++)
		close(fds[i]);
	r = send_answer(server->socket_fd, r, &answer);
	free(answer.at);
	rest(server);
	reader_rest_set_alarm(0);
	return r < 0 ? r : 1;
}

int reader_server_main(int socket_fd, const struct lang_file_ops *const *langs)
{
	/* Ctrl-C and systemd's SIGTERM reach us too, but the agent still has names to ask for: it says when to end. */
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE };
	struct reader_hello hello = { .magic = READER_HELLO_MAGIC };
	struct server server = { .socket_fd = socket_fd, .langs = langs };
	struct timeval idle = { .tv_sec = IDLE_SECONDS };
	bool seccomp = false;
	int r;

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
		signal(ignored[i], SIG_IGN);
	reader_rest_init();
	(void)prctl(PR_SET_NAME, READER_ARGV0);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	(void)setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &idle, sizeof(idle));
	r = confine(&seccomp);
	if (r < 0)
		return 1;
	program_pages_forget();
	hello.seccomp = seccomp;
	r = reader_send(socket_fd, &hello, sizeof(hello), NULL, 0);
	while (r >= 0) {
		r = serve_request(&server);
		if (r == 0)
			break;
	}
	inlines_free(server.inlines);
	return r < 0;
}
