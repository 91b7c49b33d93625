// SPDX-License-Identifier: Apache-2.0
#include "symbol/debuginfod.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/curl_library.h"
#include "base/io.h"
#include "base/private_dir.h"
#include "symbol/file_cache.h"

#define SERVERS_MAX 8u
#define BUILD_ID_MIN 4
#define BUILD_ID_BYTES_MAX 32

struct server {
	const char *url;	/* without a slash at its end */
	u64 quiet_until_ms;
};

struct debuginfod {
	char *urls;		/* cut into pieces, which servers name */
	struct server servers[SERVERS_MAX];
	u32 server_count;
	char *directory;
	int dir_fd;
	const struct curl_library *library;
	CURL *curl;
	u64 round_end_ms;
	struct debuginfod_stats stats;
};

/* One answer on its way to a file. */
struct download {
	int fd;
	u64 bytes;
};

static void add_server(struct debuginfod *debuginfod, char *url)
{
	size_t len = strlen(url);

	if ((strncasecmp(url, "http://", 7) && strncasecmp(url, "https://", 8)) ||
	    debuginfod->server_count == SERVERS_MAX)
		return;
	while (len && url[len - 1] == '/')
		url[--len] = '\0';
	debuginfod->servers[debuginfod->server_count++].url = url;
}

int debuginfod_new(const char *urls, const char *directory, struct debuginfod **ret_debuginfod)
{
	_cleanup_(debuginfod_freep) struct debuginfod *debuginfod = calloc(1, sizeof(*debuginfod));
	char *rest, *url;

	if (!debuginfod)
		return -ENOMEM;
	debuginfod->dir_fd = -1;
	debuginfod->urls = strdup(urls);
	if (!debuginfod->urls || asprintf(&debuginfod->directory, "%s/debuginfod", directory) < 0) {
		debuginfod->directory = NULL;
		return -ENOMEM;
	}
	rest = debuginfod->urls;
	while ((url = strsep(&rest, " \t")))
		add_server(debuginfod, url);
	debuginfod_begin(debuginfod);
	*ret_debuginfod = TAKE(debuginfod);
	return 0;
}

void debuginfod_free(struct debuginfod *debuginfod)
{
	if (!debuginfod)
		return;
	if (debuginfod->curl)
		debuginfod->library->easy_cleanup(debuginfod->curl);
	closep(&debuginfod->dir_fd);
	free(debuginfod->urls);
	free(debuginfod->directory);
	free(debuginfod);
}

void debuginfod_begin(struct debuginfod *debuginfod)
{
	debuginfod->round_end_ms = monotonic_ns() / 1000000 + DEBUGINFOD_ROUND_MS;
}

/* Makes the directory and its parents, for the owner alone: it tells what ran here. */
static int open_directory(struct debuginfod *debuginfod)
{
	char *path = debuginfod->directory;

	if (debuginfod->dir_fd >= 0)
		return 0;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		(void)mkdir(path, 0755);	/* the open below tells */
		*slash = '/';
	}
	debuginfod->dir_fd = private_dir_open(AT_FDCWD, path, NULL);
	return debuginfod->dir_fd < 0 ? debuginfod->dir_fd : 0;
}

/* From the directory: a descriptor, -ENOENT if an empty file says that no server has it, -EAGAIN if unknown. */
static int get_cached(struct debuginfod *debuginfod, const char *hex)
{
	_cleanup_(closep) int fd = openat(debuginfod->dir_fd, hex, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	int found = fd;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EAGAIN;
	if (!st.st_size)
		return time(NULL) - st.st_mtime < DEBUGINFOD_MISS_SECONDS ? -ENOENT : -EAGAIN;
	(void)futimens(fd, NULL);	/* it was used; if that cannot be noted it goes earlier */
	fd = -1;
	return found;
}

static size_t write_part(char *data, size_t size, size_t count, void *opaque)
{
	struct download *download = opaque;
	size_t bytes = size * count;

	download->bytes += bytes;
	if (download->bytes > DEBUGINFOD_FILE_BYTES)
		return 0;
	return io_write_all(download->fd, data, bytes) < 0 ? 0 : bytes;
}

static int set_up(struct debuginfod *debuginfod, const char *url, struct download *download, u64 timeout_ms)
{
	const struct curl_library *library = curl_library();
	CURLcode code = CURLE_OK;
	CURL *curl;

	if (!library)
		return -ENOSYS;
	curl = debuginfod->curl ? debuginfod->curl : library->easy_init();
	if (!curl)
		return -ENOMEM;
	debuginfod->library = library;
	debuginfod->curl = curl;
	code |= library->easy_setopt(curl, CURLOPT_URL, url);
	code |= library->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	code |= library->easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
	code |= library->easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
	code |= library->easy_setopt(curl, CURLOPT_MAXREDIRS, 5L);
	code |= library->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	code |= library->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)DEBUGINFOD_CONNECT_MS);
	code |= library->easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	code |= library->easy_setopt(curl, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)DEBUGINFOD_FILE_BYTES);
	code |= library->easy_setopt(curl, CURLOPT_USERAGENT, "wick/" WICK_VERSION);
	code |= library->easy_setopt(curl, CURLOPT_WRITEFUNCTION, write_part);
	code |= library->easy_setopt(curl, CURLOPT_WRITEDATA, download);
	return code == CURLE_OK ? 0 : -EINVAL;
}

/* 0, -ENOENT if the server has no such file, -EAGAIN if it could not be asked. */
static int request(struct debuginfod *debuginfod, struct server *server, const char *url, struct download *download)
{
	u64 now = monotonic_ns() / 1000000;
	u64 left_ms = debuginfod->round_end_ms > now ? debuginfod->round_end_ms - now : 0;
	CURLcode code;
	long status = 0;

	if (!left_ms || now < server->quiet_until_ms)
		return -EAGAIN;
	if (ftruncate(download->fd, 0) < 0 || lseek(download->fd, 0, SEEK_SET) < 0)
		return -EAGAIN;
	download->bytes = 0;
	if (set_up(debuginfod, url, download, left_ms < DEBUGINFOD_REQUEST_MS ? left_ms : DEBUGINFOD_REQUEST_MS) < 0)
		return -EAGAIN;
	code = debuginfod->library->easy_perform(debuginfod->curl);
	if (code != CURLE_OK) {
		debuginfod->stats.failures++;
		/* A file beyond the limit will not get smaller. */
		if (code == CURLE_FILESIZE_EXCEEDED || download->bytes > DEBUGINFOD_FILE_BYTES)
			return -ENOENT;
		server->quiet_until_ms = monotonic_ns() / 1000000 + DEBUGINFOD_QUIET_MS;
		return -EAGAIN;
	}
	(void)debuginfod->library->easy_getinfo(debuginfod->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status == 200 && download->bytes)
		return 0;
	if (status == 404 || status == 410)
		return -ENOENT;
	debuginfod->stats.failures++;
	return -EAGAIN;
}

/* Asks each server in turn. */
static int request_all(struct debuginfod *debuginfod, const char *hex, struct download *download)
{
	int result = -ENOENT;

	for (u32 i = 0; i < debuginfod->server_count; i++) {
		struct server *server = &debuginfod->servers[i];
		_cleanup_(freep) char *url = NULL;
		int r;

		if (asprintf(&url, "%s/buildid/%s/debuginfo", server->url, hex) < 0) {
			url = NULL;
			return -EAGAIN;
		}
		r = request(debuginfod, server, url, download);
		if (r == 0)
			return 0;
		if (r == -EAGAIN)
			result = -EAGAIN;
	}
	return result;
}

/* Written aside and renamed, so that nobody sees half a file. An empty one remembers that there is none. */
static int download(struct debuginfod *debuginfod, const char *hex)
{
	char part[2 * BUILD_ID_BYTES_MAX + 32];
	struct download to = { .fd = -1 };
	int r;

	(void)snprintf(part, sizeof(part), "%s.part-%d", hex, (int)getpid());
	to.fd = openat(debuginfod->dir_fd, part, O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to.fd < 0)
		return -EAGAIN;
	r = request_all(debuginfod, hex, &to);
	if (r == -ENOENT && ftruncate(to.fd, 0) < 0)
		r = -EAGAIN;
	if (r == -EAGAIN || renameat(debuginfod->dir_fd, part, debuginfod->dir_fd, hex) < 0)
		(void)unlinkat(debuginfod->dir_fd, part, 0);
	if (r == 0)
		return to.fd;
	close(to.fd);
	return r;
}

int debuginfod_get(struct debuginfod *debuginfod, const u8 *build_id, u32 bytes)
{
	char hex[2 * BUILD_ID_BYTES_MAX + 1];
	int fd;

	if (bytes < BUILD_ID_MIN || bytes > BUILD_ID_BYTES_MAX)
		return -ENOENT;
	for (u32 i = 0; i < bytes; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	if (open_directory(debuginfod) < 0)
		return -ENOENT;
	fd = get_cached(debuginfod, hex);
	if (fd == -EAGAIN) {
		fd = download(debuginfod, hex);
		if (fd >= 0)
			(void)file_cache_prune(debuginfod->dir_fd, DEBUGINFOD_CACHE_BYTES);
	}
	debuginfod->stats.hits += fd >= 0;
	debuginfod->stats.misses += fd == -ENOENT;
	return fd;
}

struct debuginfod_stats debuginfod_stats(const struct debuginfod *debuginfod)
{
	return debuginfod->stats;
}
