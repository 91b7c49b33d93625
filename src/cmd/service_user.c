// SPDX-License-Identifier: Apache-2.0
#include "cmd/service_user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/private_dir.h"
#include "cmd/confinement.h"
#include "cmd/service_paths.h"

#define USER "wick"
/* Above those that systemd gives away, below nobody: Debian gives it to nobody either. */
#define USER_NUMBER 65526
#define OWNED_DEPTH_MAX 4

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
static bool is_usable(const struct service_path *path)
{
	char folder[4096];
	const char *above = parent(path->at, folder, sizeof(folder));
	struct stat st;

	if (path->need == NEED_LOOK)
		return true;
	if (path->need >= NEED_OWN)
		return access(above, X_OK) == 0 || errno == ENOENT;
	if (strpbrk(path->at, "*?["))
		return access(above, R_OK | X_OK) == 0 || errno == ENOENT;
	if (stat(path->at, &st) == 0) {
		int how = (path->need == NEED_READ ? R_OK : W_OK) | (S_ISDIR(st.st_mode) ? X_OK : 0);

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
static u32 first_unusable(const struct service_paths *paths, uid_t uid, gid_t gid)
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
static void give(const struct service_path *own, uid_t uid, gid_t gid, uid_t other)
{
	const char *path = own->at;
	struct stat st;
	int fd;

	if ((uid || own->need == NEED_STORE) && mkdir(path, 0700) < 0 && errno != EEXIST)
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

static void decide(const struct service_paths *paths, struct confinement *c, struct buf *notice)
{
	uid_t uid;
	gid_t gid;
	u32 bad;

	find_user(&uid, &gid);
	bad = c->is_off ? STAYS : first_unusable(paths, uid, gid);
	if (bad == NOBODY_CAN)
		buf_addf(notice, "the service stays user 0, without capabilities: it may not become user %u; ", uid);
	else if (bad < paths->count)
		buf_addf(notice, "the service stays user 0, without capabilities: user %u could not use %.200s; give "
				 "it to that user to have the service run as it; ", uid, paths->at[bad].at);
	c->uid = bad != paths->count ? 0 : uid;
	c->gid = bad != paths->count ? 0 : gid;
	for (u32 i = 0; i < paths->count; i++)
		if (paths->at[i].need >= NEED_OWN)
			give(&paths->at[i], c->uid, c->gid, uid);
}

void service_user_choose(const struct service_paths *paths, struct confinement *c, struct buf *notice)
{
	uid_t own;
	gid_t group;

	find_user(&own, &group);
	c->uid = geteuid();
	c->gid = getegid();
	c->binds_low = paths->binds_low;
	if (c->uid == 0)
		decide(paths, c, notice);
	c->owns_nothing = c->uid == own;
}
