// SPDX-License-Identifier: Apache-2.0
#include "proc/binaries.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/interner.h"
#include "exe/background_reader.h"
#include "proc/binary.h"
#include "proc/mapped_file.h"
#include "proc/maps.h"
#include "proc/vdso.h"

#define KEYS_MAX (1u << 18)
#define KEYS_BYTES_MAX (64u << 20)
#define NOT_CODE_KEPT 64

/* What a file is known by. Padded with zeroes, so that it can be compared as bytes. */
struct binary_key {
	u8 type;	/* 'b' build id, hash and identity, 'd' device and inode, 'v' vDSO, 'u' unreadable */
	u8 build_id_bytes;
	u8 build_id[BUILD_ID_MAX];
	u8 htlhash[16];
	u32 dev_major, dev_minor;
	u64 inode;
	u64 file;	/* file_identity() */
	char path[256];	/* of unreadable files only */
};

struct slot {
	struct binary *binary;	/* NULL: let go */
	bool idle;		/* nobody used it at the last sweep */
};

/* A memfd that is no ELF file. Its inode is never given twice. */
struct not_code {
	u32 dev_major, dev_minor;
	u64 inode;
};

/* A file that was opened, while the reader looks what it is. */
struct identify_job {
	struct read_job job;
	struct binaries *binaries;
	struct identify_job *next, **link;	/* of all of them */
	struct binary_key key;
	struct mapping mapping;		/* its path is ours */
	struct mapped_file file;
	struct exe_info info;
};

struct binaries {
	struct background_reader *reader;
	struct identify_job *jobs;
	struct peek *peek;
	struct arena arena;
	struct interner keys;
	u32 *id_of_key;		/* by number of the key */
	u32 id_of_key_cap;
	struct slot *slots;	/* by id */
	u32 slot_count, slot_cap, open_count;
	struct not_code not_code[NOT_CODE_KEPT];	/* the last ones: a runtime maps its memfd again and again */
	u32 not_code_next;
	struct binaries_stats stats;
};

int binaries_new(struct background_reader *reader, struct peek *peek, struct binaries **ret_binaries)
{
	struct binaries *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->reader = reader;
	b->peek = peek;
	b->slot_count = 1;	/* id 0 is no binary */
	arena_init(&b->arena, KEYS_BYTES_MAX);
	interner_init(&b->keys, &b->arena, KEYS_MAX);
	*ret_binaries = b;
	return 0;
}

void binaries_free(struct binaries *b)
{
	if (!b)
		return;
	for (u32 i = 1; i < b->slot_count && b->slots; i++)
		binary_unref(b->slots[i].binary);
	interner_done(&b->keys);
	arena_done(&b->arena);
	free(b->id_of_key);
	free(b->slots);
	free(b);
}

struct binary *binaries_get(const struct binaries *b, u32 id)
{
	return id < b->slot_count && b->slots ? b->slots[id].binary : NULL;
}

static struct binary *binaries_find(struct binaries *b, const struct binary_key *key)
{
	u32 number = interner_find(&b->keys, key, sizeof(*key));

	return number == INTERNER_NONE ? NULL : binaries_get(b, b->id_of_key[number]);
}

static int binaries_set(struct binaries *b, const struct binary_key *key, u32 id)
{
	u32 number = interner_add(&b->keys, key, sizeof(*key), NULL);

	if (number == INTERNER_NONE || array_reserve(&b->id_of_key, &b->id_of_key_cap, number + 1, sizeof(u32)) < 0)
		return -ENOMEM;
	b->id_of_key[number] = id;
	return 0;
}

static struct binary_key key_of_mapping(const struct mapping *m)
{
	struct binary_key key;

	memset(&key, 0, sizeof(key));
	if (m->kind == MAPPING_VDSO) {
		key.type = 'v';
	} else {
		key.type = 'd';
		key.dev_major = m->dev_major;
		key.dev_minor = m->dev_minor;
		key.inode = m->inode;
	}
	return key;
}

/*
 * A build id proves nothing, since any file can claim any; nor does a hash of its ends. What another user's file says
 * must never be taken for what this one does.
 */
static struct binary_key key_of_contents(const struct exe_info *info, u64 file)
{
	struct binary_key key;

	memset(&key, 0, sizeof(key));
	key.type = 'b';
	key.build_id_bytes = info->build_id_bytes;
	memcpy(key.build_id, info->build_id, info->build_id_bytes);
	memcpy(key.htlhash, info->htlhash, sizeof(key.htlhash));
	key.file = file;
	return key;
}

/* All processes have the same vDSO: ours serves. */
static int open_file(struct binaries *b, u32 pid, const struct mapping *m, struct mapped_file *ret_file)
{
	if (m->kind != MAPPING_VDSO)
		return mapped_file_open(b->peek, pid, m, ret_file);
	ret_file->fd = vdso_open();
	return ret_file->fd < 0 ? ret_file->fd : 0;
}

/* Gives a binary its id. The table keeps one reference; on failure it is gone. */
static struct binary *binaries_add(struct binaries *b, struct binary *binary)
{
	if (!binary)
		return NULL;
	if (b->open_count >= BINARIES_OPEN_MAX || b->slot_count >= BINARIES_MAX ||
	    array_reserve(&b->slots, &b->slot_cap, b->slot_count + 1, sizeof(*b->slots)) < 0) {
		b->stats.full++;
		binary_unref(binary);
		return NULL;
	}
	binary->id = b->slot_count;
	b->slots[b->slot_count++] = (struct slot){ .binary = binary };
	b->open_count++;
	return binary;
}

static struct binary *binaries_add_unreadable(struct binaries *b, const struct mapping *m)
{
	struct exe_info info = { .segment_count = 1 };
	struct binary_key key = key_of_mapping(m);
	struct binary *binary;

	key.type = 'u';
	snprintf(key.path, sizeof(key.path), "%s", m->path);
	binary = binaries_find(b, &key);
	if (binary)
		return binary;
	info.segment[0].bytes = FRAME_EA_MASK;
	binary = binaries_add(b, binary_new(-1, -1, m->path, &info));
	if (binary)
		(void)binaries_set(b, &key, binary->id);
	return binary;
}

/* What is no ELF file there is code that a runtime has generated, and mapped twice to write it (.NET does). */
static bool is_memfd(const struct mapping *m)
{
	return !strncmp(m->path, "/memfd:", strlen("/memfd:"));
}

/* A file that was opened: a known one under another key, or new. Takes what it keeps of the file. */
static struct binary *binaries_take(struct binaries *b, const struct mapping *m, struct mapped_file *file,
				    const struct exe_info *info, const struct binary_key *by_contents)
{
	struct binary *binary = NULL;

	if (info->build_id_bytes && m->kind != MAPPING_VDSO)
		binary = binaries_find(b, by_contents);
	if (binary)
		return binary;
	binary = binary_new(file->fd, file->root_fd, m->path, info);
	if (!binary)
		return NULL;
	file->fd = file->root_fd = -1;
	binary->file = by_contents->file;
	binary = binaries_add(b, binary);
	b->stats.opened += binary != NULL;
	return binary;
}

static bool is_not_code(const struct binaries *b, const struct mapping *m)
{
	for (u32 i = 0; i < NOT_CODE_KEPT; i++)
		if (m->inode && b->not_code[i].inode == m->inode && b->not_code[i].dev_major == m->dev_major &&
		    b->not_code[i].dev_minor == m->dev_minor)
			return true;
	return false;
}

static void set_not_code(struct binaries *b, const struct mapping *m)
{
	b->not_code[b->not_code_next++ % NOT_CODE_KEPT] = (struct not_code){ m->dev_major, m->dev_minor, m->inode };
}

/* What cannot be read, for that reason, is known by its name. NULL: code that a runtime has generated. */
static struct binary *binaries_refuse(struct binaries *b, const struct mapping *m, int error)
{
	/* Memory of .NET's has the size of all that it may ever take. */
	bool is_not_elf = error == -ENOEXEC || (error == -EFBIG && is_memfd(m));

	b->stats.unreadable += !is_not_elf;
	b->stats.not_elf += is_not_elf;
	if (!is_not_elf || !is_memfd(m))
		return binaries_add_unreadable(b, m);
	set_not_code(b, m);
	return NULL;
}

static int identify(struct read_job *job, struct reader *reader)
{
	struct identify_job *i = (struct identify_job *)job;

	return reader_identify(reader, i->file.fd, &i->info);
}

/* It may turn out to be a known file under another key. */
static void identified(struct read_job *job, int r)
{
	struct identify_job *i = (struct identify_job *)job;
	struct binaries *b = i->binaries;
	struct binary_key by_contents = key_of_contents(&i->info, file_identity(i->file.fd));
	struct binary *binary;

	if (r < 0) {
		binary = binaries_refuse(b, &i->mapping, r);
	} else {
		binary = binaries_take(b, &i->mapping, &i->file, &i->info, &by_contents);
		if (binary && i->info.build_id_bytes)
			(void)binaries_set(b, &by_contents, binary->id);
	}
	/* Whoever asks next, by the same key, gets it. */
	if (binary)
		(void)binaries_set(b, &i->key, binary->id);
	*i->link = i->next;
	if (i->next)
		i->next->link = i->link;
	mapped_file_closep(&i->file);
	free(i->mapping.path);
	free(i);
}

static bool is_being_identified(const struct binaries *b, const struct binary_key *key)
{
	for (const struct identify_job *i = b->jobs; i; i = i->next)
		if (!memcmp(&i->key, key, sizeof(*key)))
			return true;
	return false;
}

/* Has a file looked at that is not known yet: -EAGAIN, or 0 and what stands for it if it cannot be. */
static int binaries_open(struct binaries *b, u32 pid, const struct mapping *m, const struct binary_key *key,
			 struct binary **ret_binary)
{
	_cleanup_(mapped_file_closep) struct mapped_file file = { -1, -1 };
	struct identify_job *i;
	char *path;
	int r = open_file(b, pid, m, &file);

	if (r < 0) {
		*ret_binary = binaries_refuse(b, m, r);
		return 0;
	}
	i = calloc(1, sizeof(*i));
	path = i ? strdup(m->path) : NULL;
	if (!path) {
		free(i);
		return -ENOMEM;
	}
	i->job = (struct read_job){ .run = identify, .done = identified, .owner = read_job_owner(file.fd) };
	i->binaries = b;
	i->key = *key;
	i->mapping = *m;
	i->mapping.path = path;
	i->file = file;
	file = (struct mapped_file){ -1, -1 };
	i->next = b->jobs;
	i->link = &b->jobs;
	if (i->next)
		i->next->link = &i->next;
	b->jobs = i;
	(void)background_reader_post(b->reader, &i->job);
	return -EAGAIN;
}

int binaries_resolve(struct binaries *b, u32 pid, const struct mapping *mapping, struct binary **ret_binary)
{
	struct binary_key key = key_of_mapping(mapping);
	struct binary *binary = binaries_find(b, &key);
	int r = 0;

	if (!binary && is_being_identified(b, &key))
		return -EAGAIN;
	if (!binary && !mapping_is_image(mapping->path) && !(is_memfd(mapping) && is_not_code(b, mapping)))
		r = binaries_open(b, pid, mapping, &key, &binary);
	if (r == -EAGAIN)
		return r;
	*ret_binary = binary ? binary_ref(binary) : NULL;
	return 0;
}

void binaries_sweep(struct binaries *b, void (*forget)(void *arg, struct binary *binary), void *arg)
{
	for (u32 id = 1; id < b->slot_count && b->slots; id++) {
		struct slot *slot = &b->slots[id];
		bool idle = slot->binary && atomic_load(&slot->binary->refs) == 1;

		if (idle && slot->idle) {
			forget(arg, slot->binary);
			binary_unref(slot->binary);
			slot->binary = NULL;
			b->open_count--;
			b->stats.let_go++;
		}
		slot->idle = idle;
	}
}

struct binaries_stats binaries_stats(const struct binaries *b)
{
	return b->stats;
}

bool binary_place(const struct binary *binary, const struct mapping *mapping, u64 *ret_bias, u64 *ret_start_va,
		  u64 *ret_end_va)
{
	u64 length = mapping->end_va - mapping->start_va;

	for (u32 i = 0; i < binary->info.segment_count; i++) {
		const struct exe_segment *s = &binary->info.segment[i];
		u64 start = s->file_offset > mapping->file_offset ? s->file_offset : mapping->file_offset;
		u64 end = s->file_offset + s->bytes < mapping->file_offset + length ? s->file_offset + s->bytes
										    : mapping->file_offset + length;

		if (start >= end)
			continue;
		*ret_start_va = mapping->start_va + (start - mapping->file_offset);
		*ret_end_va = mapping->start_va + (end - mapping->file_offset);
		*ret_bias = *ret_start_va - (s->ea + (start - s->file_offset));
		return true;
	}
	return false;
}
