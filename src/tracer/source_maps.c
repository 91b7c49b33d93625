// SPDX-License-Identifier: Apache-2.0
#include "tracer/source_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/offload.h"
#include "exe/background_reader.h"
#include "exe/reader_protocol.h"
#include "exe/source_map.h"
#include "lang/lang.h"
#include "proc/peek.h"
#include "proc/root_file.h"
#include "proc/process_status.h"

#define NO_MAP UINT32_MAX
#define LATE_LASTS_NS 10000000000ull

/* A file, or text in a script: then there is none. */
struct identity {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec changed;
};

struct kept_map {
	struct identity from;
	struct source_map *map;
};

struct known_script {
	u64 serial;		/* of the process */
	u64 path_hash;		/* threads of a process that run scripts of their own number them alike */
	u32 id;
	u32 map;		/* or NO_MAP */
};

/* A map that is being parsed, for a script. */
struct parse_job {
	struct read_job job;
	struct source_maps *maps;
	struct known_script script;
	struct identity from;
	int fd;			/* its text */
	struct source_map *map;
};

struct source_maps {
	struct background_reader *reader;
	u32 job_count;
	u64 late_ns, generation;
	struct kept_map *maps;
	struct known_script *scripts;
	u32 map_count, map_cap, script_count, script_cap;
	u64 bytes;
	struct source_maps_stats stats;
};

struct source_maps *source_maps_new(struct background_reader *reader)
{
	struct source_maps *m = calloc(1, sizeof(*m));

	if (m)
		m->reader = reader;
	return m;
}

static void forget_all(struct source_maps *m)
{
	for (u32 i = 0; i < m->map_count; i++)
		free(m->maps[i].map);
	m->map_count = m->script_count = 0;
	m->bytes = 0;
}

void source_maps_free(struct source_maps *m)
{
	if (!m)
		return;
	forget_all(m);
	free(m->maps);
	free(m->scripts);
	free(m);
}

/* Reads a file of a process, if the process's user may read it, too, and has reason to believe it. */
struct map_call {
	struct offload_call call;
	char script[PATH_MAX], path[PATH_MAX];	/* as the process names them */
	struct identity from;
	char *text;
	size_t bytes;
};

static bool may_read(const struct stat *map, const struct stat *script, uid_t uid)
{
	return map->st_size > 0 && map->st_size <= SOURCE_MAP_FILE_MAX &&
	       (map->st_uid == uid || map->st_mode & S_IROTH) &&
	       (map->st_uid == uid || map->st_uid == 0 || map->st_uid == script->st_uid);
}

static int stat_below(int root_fd, const char *path, struct stat *ret_stat)
{
	_cleanup_(closep) int fd = root_file_open(root_fd, path);

	if (fd < 0)
		return fd;
	return fstat(fd, ret_stat) < 0 ? -errno : 0;
}

static int read_text(int fd, struct map_call *e)
{
	size_t want = (size_t)e->from.bytes;
	ssize_t got;

	e->text = malloc(want);
	if (!e->text)
		return -ENOMEM;
	while (e->bytes < want) {
		got = pread(fd, e->text + e->bytes, want - e->bytes, (off_t)e->bytes);
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		e->bytes += (size_t)got;
	}
	return 0;
}

static int run(struct offload_call *call)
{
	struct map_call *e = (struct map_call *)call;
	_cleanup_(closep) int root = -1, fd = -1;
	struct stat script, map;
	struct process_status status;
	int r;

	r = process_status_read(call->pid, &status);
	if (r < 0)
		return r;
	root = root_file_root_of(call->pid);
	if (root < 0)
		return root;
	r = stat_below(root, e->script, &script);
	if (r < 0)
		return r;
	fd = root_file_open(root, e->path);
	if (fd < 0)
		return fd;
	if (fstat(fd, &map) < 0)
		return -errno;
	if (!may_read(&map, &script, status.uid))
		return -EPERM;
	e->from = (struct identity){ map.st_dev, map.st_ino, map.st_size, map.st_mtim };
	return read_text(fd, e);
}

static void drop(struct offload_call *call)
{
	free(((struct map_call *)call)->text);
}

static void map_call_free(struct map_call **e)
{
	if (*e)
		drop(&(*e)->call);
	free(*e);
}

/* What the URL means, from the script on: a path below the root; -ENODATA if it is none of a file. */
static int path_of(const char *script, const char *url, char path[PATH_MAX])
{
	const char *slash = strrchr(script, '/');
	int dir = *url == '/' || !slash ? 0 : (int)(slash + 1 - script), len;

	if (!strncmp(url, "file://", 7)) {
		url += 7;
		dir = 0;
	}
	if (!slash || strstr(url, "://") || strlen(script) >= PATH_MAX)
		return -ENODATA;
	len = snprintf(path, PATH_MAX, "%.*s%s", dir, script, url);
	return len < PATH_MAX ? 0 : -ENODATA;
}

static u32 find_map(const struct source_maps *m, const struct identity *from)
{
	for (u32 i = 0; i < m->map_count; i++) {
		const struct identity *at = &m->maps[i].from;

		if (at->inode && at->inode == from->inode && at->device == from->device && at->bytes == from->bytes &&
		    at->changed.tv_sec == from->changed.tv_sec && at->changed.tv_nsec == from->changed.tv_nsec)
			return i;
	}
	return NO_MAP;
}

static u64 path_hash(const struct lang_script *script)
{
	return XXH3_64bits(script->path, strlen(script->path));
}

static struct known_script *find_script(const struct source_maps *m, u64 serial, u32 id, u64 hash)
{
	for (u32 i = 0; i < m->script_count; i++) {
		struct known_script *at = &m->scripts[i];

		if (at->id == id && at->serial == serial && at->path_hash == hash)
			return at;
	}
	return NULL;
}

/* Before anything is kept: what is full forgets maps, too. */
static void make_room(struct source_maps *m, u64 map_bytes)
{
	if (m->script_count < SOURCE_MAPS_SCRIPTS_MAX && m->bytes + map_bytes <= SOURCE_MAPS_BYTES_MAX)
		return;
	m->stats.evictions++;
	forget_all(m);
}

static int parse(struct read_job *job, struct reader *reader)
{
	struct parse_job *p = (struct parse_job *)job;

	return reader_source_map(reader, p->fd, &p->map);
}

static int keep_map(struct source_maps *m, const struct identity *from, struct source_map *map, u32 *ret_index)
{
	if (array_reserve(&m->maps, &m->map_cap, m->map_count + 1, sizeof(*m->maps)) < 0)
		return -ENOMEM;
	m->bytes += map->bytes;
	*ret_index = m->map_count;
	m->maps[m->map_count++] = (struct kept_map){ *from, map };
	return 0;
}

static int keep_script(struct source_maps *m, const struct known_script *script)
{
	if (array_reserve(&m->scripts, &m->script_cap, m->script_count + 1, sizeof(*m->scripts)) < 0)
		return -ENOMEM;
	m->scripts[m->script_count++] = *script;
	return 0;
}

static void parsed(struct read_job *job, int r)
{
	struct parse_job *p = (struct parse_job *)job;
	struct source_maps *m = p->maps;
	struct known_script *known;

	make_room(m, r == 0 ? p->map->bytes : 0);
	if (r == 0)
		r = keep_map(m, &p->from, p->map, &p->script.map);
	if (r == 0)
		p->map = NULL;
	m->job_count--;
	m->stats.read += r == 0;
	m->stats.failed += r < 0;
	known = find_script(m, p->script.serial, p->script.id, p->script.path_hash);
	if (known) {
		*known = p->script;
		m->generation++;
	} else {
		(void)keep_script(m, &p->script);	/* else it is read again */
	}
	free(p->map);
	closep(&p->fd);
	free(p);
}

/* Has a map parsed: 0 once it is, -EAGAIN if it takes longer than that may. */
static int parse_map(struct source_maps *m, const struct known_script *script, const struct identity *from,
		     const char *text, size_t bytes)
{
	struct parse_job *p = calloc(1, sizeof(*p));
	bool was_late = m->late_ns && monotonic_ns() - m->late_ns < LATE_LASTS_NS;
	int r;

	if (!p)
		return -ENOMEM;
	r = reader_pack(text, bytes, &p->fd);
	if (r < 0) {
		free(p);
		return r;
	}
	p->job = (struct read_job){ .run = parse, .done = parsed, .owner = script->serial };
	p->maps = m;
	p->script = *script;
	p->from = *from;
	m->job_count++;
	if (!background_reader_post(m->reader, &p->job) ||
	    background_reader_wait(m->reader, &p->job, was_late ? 0 : SOURCE_MAPS_WAIT_NS))
		return 0;
	m->late_ns = monotonic_ns();
	return -EAGAIN;
}

/* Finds out about a script's map, and keeps what is known: 0; -EAGAIN if that is still to come, or -errno. */
static int read_map(struct source_maps *m, const struct lang_process *process, const struct lang_script *script,
		    struct known_script *known)
{
	_cleanup_(map_call_free) struct map_call *e = NULL;
	int r;

	if (!strncmp(script->url, "data:", 5))
		return parse_map(m, known, &(struct identity){ 0 }, script->url, strlen(script->url));
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->call = (struct offload_call){ peek_process(process->serial), run, drop, process->pid };
	r = path_of(script->path, script->url, e->path);
	if (r < 0)
		return r;
	(void)snprintf(e->script, sizeof(e->script), "%s", script->path);
	r = process->is_gone ? -ESRCH : peek_run(process->peek, &e->call);
	if (r == -ETIMEDOUT)
		e = NULL;	/* it is not ours any more */
	if (r < 0)
		return r;
	known->map = find_map(m, &e->from);
	if (known->map == NO_MAP)
		return parse_map(m, known, &e->from, e->text, e->bytes);
	m->stats.read++;
	return keep_script(m, known);
}

static void add_script(struct source_maps *m, const struct lang_process *process, const struct lang_script *script)
{
	struct known_script known = { process->serial, path_hash(script), script->id, NO_MAP };
	int r;

	make_room(m, 0);
	r = read_map(m, process, script, &known);
	if (r == 0)
		return;
	/* Until it comes, or for good, it has none. */
	m->stats.failed += r != -EAGAIN;
	(void)keep_script(m, &known);
}

int source_maps_find(struct source_maps *m, const struct lang_process *process, const struct lang_script *script,
		     const struct source_map **ret_map)
{
	u64 hash = path_hash(script);
	const struct known_script *known = find_script(m, process->serial, script->id, hash);

	if (!known && !script->url)
		return -ENOENT;
	if (!known && m->job_count < SOURCE_MAPS_JOBS_MAX) {
		add_script(m, process, script);
		known = find_script(m, process->serial, script->id, hash);
	}
	if (!known || known->map == NO_MAP)
		return -ENODATA;
	*ret_map = m->maps[known->map].map;
	return 0;
}

u64 source_maps_generation(const struct source_maps *m)
{
	return m->generation;
}

struct source_maps_stats source_maps_stats(const struct source_maps *m)
{
	return m->stats;
}
