// SPDX-License-Identifier: Apache-2.0
#include "cmd/service_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/landlock.h"
#include "base/metrics.h"
#include "cmd/confinement.h"
#include "cmd/service_paths.h"
#include "exe/reader.h"

#define NAMES_CACHE "/var/cache/wick/debuginfod"

struct service_rule {
	char *path;
	enum landlock_use use;
	bool is_watched;	/* a regular file, which its user may read */
};

/* What is asked for while paths are looked at: to make a rule, or whether there is one. */
struct asking {
	struct service_files *files;
	int rules_fd;		/* -1: whether there is one */
	char *lacking;		/* the first that has none */
	size_t lacking_bytes;
	struct buf *notice;
	int err;
};

/* ---- What any program needs -------------------------------------------------------------- */

/* Libraries, which are run in the sense that the loader is. */
static const char *const run[] = { "/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64",
				   "/usr/libx32", "/usr/local/lib", "/usr/local/lib64", "/nix/store", "/gnu/store" };

/* With what names are taken from. /proc: other processes' memory and files are kept from us by Landlock itself. */
static const char *const read_only[] = {
	"/proc", "/sys/fs/cgroup", "/sys/class", "/sys/devices", "/sys/module", "/sys/kernel/notes", "/sys/kernel/mm",
	"/sys/hypervisor", "/dev/zero", "/dev/random", "/dev/urandom", "/bin", "/sbin", "/usr", "/opt",
	"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust", "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf",
	"/etc/ca-certificates", "/etc/crypto-policies", "/var/lib/ca-certificates",
	"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
	"/etc/protocols", "/run/systemd/resolve", "/run/resolvconf",
	"/etc/passwd", "/etc/group", "/etc/localtime", "/etc/timezone", "/etc/hostname", "/etc/os-release",
	"/etc/machine-id", "/var/lib/dbus/machine-id",
	"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
};

/* Where these say it. */
static const char *const variables[] = { "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "OPENSSL_CONF",
					 "LD_LIBRARY_PATH", "TZDIR" };

/* ---- Rules ------------------------------------------------------------------------------- */

static bool is_below(const char *path, const char *above)
{
	size_t len = strlen(above);

	return !strcmp(above, "/") || (!strncmp(path, above, len) && (!path[len] || path[len] == '/'));
}

static bool has_rule(const struct service_files *files, const char *path, enum landlock_use use)
{
	for (u32 i = 0; i < files->count; i++)
		if (is_below(path, files->rules[i].path) && (use == LANDLOCK_READ || files->rules[i].use == use))
			return true;
	return false;
}

static int add_rule(struct asking *a, const char *path, enum landlock_use use)
{
	_cleanup_(closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct service_files *files = a->files;
	struct service_rule rule = { .use = use };
	struct stat st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;	/* it is not there, or not for us anyway */
	r = landlock_allow(a->rules_fd, fd, use);
	if (r == 0)
		r = array_reserve(&files->rules, &files->cap, files->count + 1, sizeof(*files->rules));
	if (r < 0)
		return r;
	rule.is_watched = S_ISREG(st.st_mode) && strncmp(path, "/proc/", 6);
	rule.path = strdup(path);
	if (!rule.path)
		return -ENOMEM;
	files->rules[files->count++] = rule;
	return 0;
}

/* Of a path without links. */
static void ask(struct asking *a, const char *path, enum landlock_use use)
{
	if (a->err < 0 || has_rule(a->files, path, use))
		return;
	if (a->rules_fd >= 0)
		a->err = add_rule(a, path, use);
	else if (!*a->lacking)
		(void)snprintf(a->lacking, a->lacking_bytes, "%s", path);
}

/* ---- Directories -------------------------------------------------------------------------- */

/* Cuts the last part off. "/" has none. */
static void go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (slash)
		slash[slash == path] = '\0';
}

/* Whether it holds all kinds of things: not below the first level, homes, or what systems keep by such names. */
static bool is_shared(const char *dir)
{
	static const char *const levels[] = { "/home/", "/var/", "/usr/" };
	const char *second = *dir ? strchr(dir + 1, '/') : NULL;

	if (!second || !strcmp(dir, "/etc/ssl") || !strcmp(dir, "/etc/pki"))
		return true;
	for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++)
		if (!strncmp(dir, levels[i], strlen(levels[i])) && !strchr(second + 1, '/'))
			return true;
	return false;
}

/* The directory of a path that may not be there, without links, up to one that is. False: it is the root. */
static bool find_above(const char *path, char out[PATH_MAX])
{
	char text[PATH_MAX];
	size_t len = strcspn(path, "*?[");

	if (snprintf(text, sizeof(text), "%s%.*s", *path == '/' ? "" : "./", (int)len, path) >= (int)sizeof(text))
		return false;
	do {
		char *slash = strrchr(text, '/');

		if (!slash || slash == text)
			return false;
		*slash = '\0';
	} while (!realpath(text, out));
	return strcmp(out, "/") != 0;
}

/* ---- What the configuration names ------------------------------------------------------------- */

static void ask_to_read(struct asking *a, const char *path)
{
	char real[PATH_MAX], above[PATH_MAX];
	bool is_pattern = strpbrk(path, "*?["), is_there = !is_pattern && realpath(path, real);
	struct stat st;

	if (is_there)
		ask(a, real, LANDLOCK_READ);
	if (is_there && (stat(real, &st) < 0 || !S_ISREG(st.st_mode)))
		return;
	if (find_above(path, above) && (is_pattern || !is_shared(above)))
		ask(a, above, LANDLOCK_READ);
	if (!is_there)
		return;
	go_up(real);	/* where links led */
	if (!is_shared(real))
		ask(a, real, LANDLOCK_READ);
}

static void ask_to_write(struct asking *a, const char *path)
{
	char real[PATH_MAX], above[PATH_MAX];
	struct stat st;

	if (!strpbrk(path, "*?[") && realpath(path, real) && strcmp(real, "/")) {
		ask(a, real, LANDLOCK_WRITE);
		if (!strncmp(path, "/dev/", 5) || (stat(real, &st) == 0 && S_ISDIR(st.st_mode)))
			return;
	}
	if (!find_above(path, above))
		return;
	if (a->notice && is_shared(above) && !has_rule(a->files, above, LANDLOCK_WRITE))
		buf_addf(a->notice, "the service may write to all of %.200s, for %.200s; ", above, path);
	ask(a, above, LANDLOCK_WRITE);
}

static void ask_for(struct asking *a, const struct service_path *path)
{
	char real[PATH_MAX];

	if (path->need == NEED_WRITE)
		ask_to_write(a, path->at);
	else if (path->need >= NEED_OWN && realpath(path->at, real))
		ask(a, real, LANDLOCK_WRITE);
	else if (path->need >= NEED_OWN)
		ask_to_write(a, path->at);
	else if (path->need == NEED_LOOK && realpath(path->at, real))
		ask(a, real, LANDLOCK_READ);
	else if (path->need == NEED_READ)
		ask_to_read(a, path->at);
}

static void ask_for_all(struct asking *a, const struct service_paths *paths)
{
	if (paths->fetches_names && a->rules_fd >= 0) {
		char above[] = NAMES_CACHE;

		go_up(above);
		(void)mkdir(above, 0700);
		(void)mkdir(NAMES_CACHE, 0700);
	}
	if (paths->fetches_names && access(NAMES_CACHE, F_OK) == 0)
		ask(a, NAMES_CACHE, LANDLOCK_WRITE);
	for (u32 i = 0; i < paths->count; i++)
		/* The path of a URL, or everything: where programs are looked for. */
		if (strcmp(paths->at[i].at, "/"))
			ask_for(a, &paths->at[i]);
}

/* ---- All of it ---------------------------------------------------------------------------------- */

static void ask_for_variable(struct asking *a, const char *name)
{
	const char *at = getenv(name);
	char path[PATH_MAX];

	while (at && *at) {
		size_t len = strcspn(at, ":");

		if (len && snprintf(path, sizeof(path), "%.*s", (int)len, at) < (int)sizeof(path))
			ask_to_read(a, path);
		at += len + (at[len] == ':');
	}
}

static void ask_for_usual(struct asking *a)
{
	char self[PATH_MAX];

	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++)
		ask(a, run[i], LANDLOCK_RUN);
	if (realpath("/proc/self/exe", self))
		ask(a, self, LANDLOCK_RUN);
	ask(a, "/dev/null", LANDLOCK_WRITE);
	for (size_t i = 0; i < sizeof(read_only) / sizeof(read_only[0]); i++)
		ask(a, read_only[i], LANDLOCK_READ);
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		ask_for_variable(a, variables[i]);
}

static void describe(const struct service_files *files, bool reads_all, struct buf *notice)
{
	u32 told = 0;

	buf_addf(notice, "Landlock (ABI %d) lets the service read %s and write to", files->abi,
		 reads_all ? "what everybody may" : "libraries, certificates and what the configuration names");
	for (u32 i = 0; i < files->count; i++)
		if (files->rules[i].use == LANDLOCK_WRITE && !is_below(files->rules[i].path, "/dev"))
			buf_addf(notice, "%s %.200s", told++ ? "," : "", files->rules[i].path);
	buf_addf(notice, "%s", told ? "" : " nothing");
}

int service_files_allow(struct service_files *files, const struct service_paths *paths, struct confinement *c,
			struct buf *notice)
{
	_cleanup_(closep) int rules_fd = c->is_off ? -EOPNOTSUPP : landlock_begin();
	bool reads_all = c->owns_nothing && paths->looks_for_files;
	struct asking a = { .files = files, .rules_fd = rules_fd, .notice = notice };

	if (rules_fd == -EOPNOTSUPP && !c->is_off)
		buf_addf(notice, "this kernel has no Landlock: files are kept from the service by its user alone");
	if (rules_fd < 0)
		return rules_fd == -EOPNOTSUPP ? 0 : rules_fd;
	files->abi = landlock_abi();
	reader_keep_offer();
	ask_for_usual(&a);
	if (reads_all)
		ask(&a, "/", LANDLOCK_READ);
	ask_for_all(&a, paths);
	if (a.err < 0)
		return a.err;
	describe(files, reads_all, notice);
	c->rules_fd = rules_fd;
	rules_fd = -1;
	return 0;
}

void service_files_done(struct service_files *files)
{
	for (u32 i = 0; i < files->count; i++)
		free(files->rules[i].path);
	free(files->rules);
	*files = (struct service_files){ 0 };
}

bool service_files_lack(const struct service_files *files, const struct service_paths *paths, char *path, size_t bytes)
{
	struct asking a = { .files = (struct service_files *)files, .rules_fd = -1, .lacking = path,
			    .lacking_bytes = bytes };

	*path = '\0';
	if (files->abi)
		ask_for_all(&a, paths);
	return *path;
}

static bool is_refused(const struct service_rule *rule)
{
	_cleanup_(closep) int fd = open(rule->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 && errno == EACCES;
}

void service_files_begin(struct service_files *files)
{
	for (u32 i = 0; i < files->count; i++)
		files->rules[i].is_watched &= !is_refused(&files->rules[i]);
}

bool service_files_lost(const struct service_files *files, char *path, size_t bytes)
{
	for (u32 i = 0; i < files->count; i++)
		if (files->rules[i].is_watched && is_refused(&files->rules[i])) {
			(void)snprintf(path, bytes, "%s", files->rules[i].path);
			return true;
		}
	return false;
}

static void tell(void *arg, struct metrics_out *out)
{
	const struct service_files *files = arg;

	metrics_put(out, METRIC_GAUGE, "wick_service_landlock_abi",
		    "Version of Landlock that keeps files from the service; 0: none does", NULL, 0, files->abi);
}

int service_files_tell(struct service_files *files, struct metrics *metrics)
{
	return metrics_add_source(metrics, tell, files);
}
