// SPDX-License-Identifier: Apache-2.0
#include "cmd/service_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/private_dir.h"
#include "processors/k8s_api.h"

#define USER "wick"
/* Above those that systemd gives away, below nobody: Debian gives it to nobody either. */
#define USER_NUMBER 65526
#define PATHS_MAX 4096
#define OWNED_DEPTH_MAX 4
#define LOW_PORTS 1024

enum need { NEED_READ, NEED_WRITE, NEED_OWN };

struct path {
	const char *at;		/* of the configuration */
	enum need need;
};

struct paths {
	struct path *at;
	u32 count, cap;
	bool binds_low;
	int err;
};

/* Directories that are the service's own, and where they are unless it is said. */
static const struct {
	const char *section, *type, *key, *standard;
} own[] = {
	{ "exporters", "store", "path", "/var/lib/wick" },
	{ "extensions", "file_storage", "directory", "/var/lib/otelcol/file_storage" },
};

/* ---- What the configuration names ---------------------------------------------------- */

static void add(struct paths *paths, const char *at, enum need need)
{
	if (paths->err == 0 && paths->count >= PATHS_MAX)
		paths->err = -E2BIG;
	if (paths->err == 0)
		paths->err = array_reserve(&paths->at, &paths->cap, paths->count + 1, sizeof(*paths->at));
	if (paths->err == 0)
		paths->at[paths->count++] = (struct path){ at, need };
}

static bool ends_in(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Keys whose value is a path also where it does not look like one. */
static bool is_path_key(const char *key)
{
	static const char *const keys[] = { "path", "directory", "include", "filename", "files", "output_paths",
					    "roots" };

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i]))
			return true;
	return ends_in(key, "_file");
}

static bool is_own(const char *section, const char *id, const char *key)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		size_t len = strlen(own[i].type);

		if (!strcmp(section, own[i].section) && !strcmp(key, own[i].key) && !strncmp(id, own[i].type, len) &&
		    (!id[len] || id[len] == '/'))
			return true;
	}
	return false;
}

static void note_port(struct paths *paths, const char *key, const char *text)
{
	const char *colon = strrchr(text, ':');
	unsigned long port;

	if (!ends_in(key, "endpoint") && strcmp(key, "port"))
		return;
	port = strtoul(colon ? colon + 1 : text, NULL, 10);
	paths->binds_low |= port > 0 && port < LOW_PORTS;
}

static void look_at(struct paths *paths, const char *section, const char *id, const char *key, const char *text)
{
	bool writes = !strcmp(section, "exporters") || !strcmp(key, "directory") || !strcmp(key, "output_paths");

	if (strcmp(section, "exporters"))
		note_port(paths, key, text);
	if (!strncmp(text, "unix:", 5))
		add(paths, text + (strncmp(text, "unix://", 7) ? 5 : 7), NEED_WRITE);
	else if (is_own(section, id, key))
		add(paths, text, NEED_OWN);
	else if (*text == '/' || (is_path_key(key) && *text && !strstr(text, "://")))
		add(paths, text, writes && !ends_in(key, "_file") ? NEED_WRITE : NEED_READ);
}

static void walk(struct paths *paths, const char *section, const char *id, const char *key,
		 const struct config_node *node)
{
	for (u32 i = 0; node->kind == NODE_LIST && i < node->count; i++)
		walk(paths, section, id, key, node->list[i]);
	for (u32 i = 0; node->kind == NODE_MAP && i < node->count; i++)
		walk(paths, section, *id ? id : node->map[i].key, node->map[i].key, node->map[i].value);
	if (node->kind != NODE_LIST && node->kind != NODE_MAP && node->text)
		look_at(paths, section, id, key, node->text);
}

/* Components of these types that leave it at the standard. */
static void add_standards(struct paths *paths, const struct config *config)
{
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const struct config_node *section = config_get(config->root, own[i].section);

		for (u32 k = 0; section && section->kind == NODE_MAP && k < section->count; k++)
			if (is_own(own[i].section, section->map[k].key, own[i].key) &&
			    !config_get(section->map[k].value, own[i].key))
				add(paths, own[i].standard, NEED_OWN);
	}
}

/* The token of a pod's service account may be root's alone. */
static void add_account(struct paths *paths, const struct config *config)
{
	const struct config_node *section = config_get(config->root, "processors");

	for (u32 i = 0; section && section->kind == NODE_MAP && i < section->count; i++)
		if ((!strncmp(section->map[i].key, "k8sattributes", 13) ||
		     !strncmp(section->map[i].key, "k8s_attributes", 14)) && access(K8S_TOKEN_FILE, F_OK) == 0)
			add(paths, K8S_TOKEN_FILE, NEED_READ);
}

static void find_paths(const struct config_options *options, const struct config *config, struct paths *paths)
{
	static const char *const sections[] = { "receivers", "processors", "exporters", "connectors", "extensions" };
	const struct config_node *node;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		node = config_get(config->root, sections[i]);
		if (node)
			walk(paths, sections[i], "", "", node);
	}
	node = config_get(config_get(config->root, "service"), "telemetry");
	if (node)
		walk(paths, "service", "telemetry", "", node);
	add_standards(paths, config);
	add_account(paths, config);
	/* To be loaded again. */
	for (u32 i = 0; i < options->configs.count; i++) {
		const char *source = options->configs.at[i];
		bool is_file = !strncmp(source, "file:", 5);

		if (is_file || !strchr(source, ':'))
			add(paths, is_file ? source + 5 : source, NEED_READ);
	}
	/* What is fetched for names is kept beside what the sampler keeps. */
	if (getenv("DEBUGINFOD_URLS") || config_get(config->root, "debuginfod"))
		add(paths, "/var/cache/wick", NEED_WRITE);
}

/* ---- Whether the user can use it -------------------------------------------------------- */

/* Up to the last slash before anything that stands for several names; "." for none. */
static const char *parent(const char *path, char *to, size_t bytes)
{
	size_t len = strcspn(path, "*?[");
	int cut;

	while (len > 0 && path[len - 1] != '/')
		len--;
	cut = len > 1 ? (int)len - 1 : (int)len;
	if ((size_t)cut >= bytes)
		return "/";
	snprintf(to, bytes, "%.*s", cut, path);
	return cut ? to : ".";
}

/* EACCES where the file is, or could be, but not for us. Paths of URLs have no such folder. */
static bool is_usable(const struct path *path)
{
	char folder[4096];
	const char *above = parent(path->at, folder, sizeof(folder));
	struct stat st;

	if (path->need == NEED_OWN)
		return access(above, X_OK) == 0 || errno == ENOENT;
	if (strpbrk(path->at, "*?["))
		return access(above, R_OK | X_OK) == 0 || errno == ENOENT;
	if (stat(path->at, &st) == 0) {
		int how = (path->need == NEED_WRITE ? W_OK : R_OK) | (S_ISDIR(st.st_mode) ? X_OK : 0);

		if (access(path->at, how) < 0)
			return false;
		return path->need == NEED_READ || S_ISDIR(st.st_mode) || !strncmp(path->at, "/dev/", 5) ||
		       access(above, W_OK | X_OK) == 0;
	}
	if (errno == EACCES)
		return false;
	return path->need == NEED_READ || !strcmp(above, "/") || access(above, W_OK | X_OK) == 0 || errno == ENOENT;
}

#define NOBODY_CAN UINT32_MAX
#define STAYS (UINT32_MAX - 1)

/* The first that is not, by its place; count: all are. In a child that becomes the user, if that may be. */
static u32 first_unusable(const struct paths *paths, uid_t uid, gid_t gid)
{
	u32 found = 0;
	int ends[2], status;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	pid = fork();
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
			found = NOBODY_CAN;
		while (found < paths->count && is_usable(&paths->at[found]))
			found++;
		_exit(write(ends[1], &found, sizeof(found)) != sizeof(found));
	}
	close(ends[1]);
	if (pid < 0 || read(ends[0], &found, sizeof(found)) != sizeof(found))
		found = 0;
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	return found;
}

/* ---- Its directories ---------------------------------------------------------------------- */

/* Of files that were root's or the user's, with one name: nobody else can have put them into a directory of 0700. */
static void give_files(int dir_fd, uid_t uid, gid_t gid, uid_t other, int depth)
{
	DIR *dir = fdopendir(dir_fd);
	struct dirent *entry;
	struct stat st;

	if (!dir) {
		close(dir_fd);
		return;
	}
	while ((entry = readdir(dir))) {
		_cleanup_(closep) int fd = -1;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		if (fd < 0 || fstat(fd, &st) < 0 || (st.st_uid != 0 && st.st_uid != other) ||
		    !(S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_nlink == 1)) || fchown(fd, uid, gid) < 0)
			continue;
		if (S_ISDIR(st.st_mode) && depth < OWNED_DEPTH_MAX) {
			give_files(fd, uid, gid, other, depth + 1);
			fd = -1;
		}
	}
	closedir(dir);
}

/* Becomes uid's if it is root's or the service's, and for nobody else. What is otherwise is said by who opens it. */
static void give(const char *path, uid_t uid, gid_t gid, uid_t other)
{
	int fd;
	struct stat st;

	if (uid && mkdir(path, 0700) < 0 && errno != EEXIST)
		return;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || st.st_uid == uid || (st.st_uid != 0 && st.st_uid != other) ||
	    private_dir_tighten(fd, path, NULL) < 0 || fchown(fd, uid, gid) < 0)
		close(fd);
	else
		give_files(fd, uid, gid, other, 0);
}

/* ---- All of it ------------------------------------------------------------------------------ */

static void find_user(uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *user = getpwnam(USER);

	*ret_uid = user ? user->pw_uid : USER_NUMBER;
	*ret_gid = user ? user->pw_gid : USER_NUMBER;
}

static void decide(const struct paths *paths, struct confinement *c, struct buf *notice)
{
	uid_t uid;
	gid_t gid;
	u32 bad;

	find_user(&uid, &gid);
	bad = c->is_off ? STAYS : first_unusable(paths, uid, gid);
	if (bad == NOBODY_CAN)
		buf_addf(notice, "the service stays user 0, without capabilities: it may not become user %u", uid);
	else if (bad < paths->count)
		buf_addf(notice, "the service stays user 0, without capabilities: user %u could not use %.200s; give "
				 "it to that user to have the service run as it", uid, paths->at[bad].at);
	c->uid = bad != paths->count ? 0 : uid;
	c->gid = bad != paths->count ? 0 : gid;
	for (u32 i = 0; i < paths->count; i++)
		if (paths->at[i].need == NEED_OWN)
			give(paths->at[i].at, c->uid, c->gid, uid);
}

int service_user_choose(const struct config_options *options, const struct config *config, struct confinement *c,
			struct buf *notice)
{
	struct paths paths = { 0 };

	c->uid = geteuid();
	c->gid = getegid();
	find_paths(options, config, &paths);
	c->binds_low = paths.binds_low;
	if (paths.err == 0 && c->uid == 0)
		decide(&paths, c, notice);
	free(paths.at);
	return paths.err;
}
