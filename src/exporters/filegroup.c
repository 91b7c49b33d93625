// SPDX-License-Identifier: Apache-2.0
#include "exporters/filegroup.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/interner.h"

/* Files of which it is known that this run has opened them; those past it are gone on with, never emptied. */
#define KNOWN_MAX 65536
#define KNOWN_BYTES_MAX (32u << 20)

struct slot {
	struct filewriter *writer;
	u64 used;
};

struct filegroup {
	const struct filegroup_options *options;
	struct filewriter_options going_on;	/* those of files that were open before */
	struct slot *slots;
	u32 count;
	u64 uses;
	struct arena arena;
	struct interner known;
};

struct filegroup *filegroup_new(const struct filegroup_options *options)
{
	_cleanup_(filegroup_freep) struct filegroup *group = calloc(1, sizeof(*group));

	if (!group)
		return NULL;
	group->options = options;
	group->going_on = options->file;
	group->going_on.append = true;
	arena_init(&group->arena, KNOWN_BYTES_MAX);
	interner_init(&group->known, &group->arena, KNOWN_MAX);
	group->slots = calloc(options->max_open_files, sizeof(*group->slots));
	return group->slots ? TAKE(group) : NULL;
}

void filegroup_free(struct filegroup *group)
{
	if (!group)
		return;
	for (u32 i = 0; i < group->count; i++)
		filewriter_free(group->slots[i].writer);
	free(group->slots);
	interner_done(&group->known);
	arena_done(&group->arena);
	free(group);
}

int filegroup_make_directories(const char *path, mode_t mode)
{
	char part[PATH_MAX];
	size_t len = strlen(path);

	if (len >= sizeof(part))
		return -ENAMETOOLONG;
	memcpy(part, path, len + 1);
	for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(part, mode) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return 0;
}

/* ---- Names ----------------------------------------------------------------------- */

/* Control characters have no business in a name. */
static void add_part(struct buf *path, const char *at, size_t len)
{
	for (size_t i = 0; i < len; i++)
		buf_add(path, (unsigned char)at[i] < 0x20 || at[i] == 0x7f ? "_" : at + i, 1);
}

/* The value's parts without those that lead elsewhere: at least one. */
static int add_value(struct buf *path, struct str value)
{
	u32 parts = 0;

	for (u32 at = 0; at < value.len;) {
		const char *begin = value.at + at, *slash = memchr(begin, '/', value.len - at);
		size_t len = slash ? (size_t)(slash - begin) : value.len - at;

		at += (u32)len + 1;
		if (!len || (len <= 2 && begin[0] == '.' && begin[len - 1] == '.'))
			continue;
		if (parts++)
			buf_add(path, "/", 1);
		add_part(path, begin, len);
	}
	return parts ? 0 : -EINVAL;
}

static int make_path(const char *pattern, struct str value, struct buf *path)
{
	const char *star = strchr(pattern, '*');
	int r;

	buf_add(path, pattern, (size_t)(star - pattern));
	r = add_value(path, value);
	buf_add(path, star + 1, strlen(star + 1) + 1);
	if (buf_err(path))
		return buf_err(path) == -E2BIG ? -EINVAL : buf_err(path);
	return r;
}

/* ---- Files ----------------------------------------------------------------------- */

static struct slot *find(struct filegroup *group, const char *path)
{
	for (u32 i = 0; i < group->count; i++)
		if (!strcmp(filewriter_path(group->slots[i].writer), path))
			return &group->slots[i];
	return NULL;
}

/* A slot for one more: a free one, or that of the file that was not used for longest. */
static struct slot *make_room(struct filegroup *group)
{
	struct slot *oldest = &group->slots[0];

	if (group->count < group->options->max_open_files)
		return &group->slots[group->count];
	for (u32 i = 1; i < group->count; i++)
		if (group->slots[i].used < oldest->used)
			oldest = &group->slots[i];
	return oldest;
}

static int open_slot(struct filegroup *group, const char *path, struct slot **ret_slot, struct buf *why)
{
	bool is_new = false;
	u32 number = interner_add(&group->known, path, strlen(path), &is_new);
	struct filewriter *writer = NULL;
	struct slot *slot;
	int r = filegroup_make_directories(path, group->options->directory_mode);

	if (r < 0)
		buf_addf(why, "cannot make the directory of %s: %s", path, strerror(-r));
	else
		r = filewriter_open(path, number != INTERNER_NONE && is_new ? &group->options->file : &group->going_on,
				    &writer, why);
	if (r < 0)
		return r;
	slot = make_room(group);
	if (slot == &group->slots[group->count])
		group->count++;
	filewriter_free(slot->writer);
	slot->writer = writer;
	*ret_slot = slot;
	return 0;
}

int filegroup_get(struct filegroup *group, struct str value, struct filewriter **ret_writer, struct buf *why)
{
	_cleanup_(buf_done) struct buf path;
	struct slot *slot;
	int r;

	buf_init(&path, PATH_MAX);
	r = make_path(group->options->pattern, value, &path);
	if (r < 0)
		return r;
	slot = find(group, path.data);
	if (!slot)
		r = open_slot(group, path.data, &slot, why);
	if (r < 0)
		return r;
	slot->used = ++group->uses;
	*ret_writer = slot->writer;
	return 0;
}
