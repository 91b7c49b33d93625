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
#include "proc/binary.h"
#include "proc/mapped_file.h"
#include "proc/maps.h"
#include "proc/vdso.h"

#define KEYS_MAX (1u << 18)
#define KEYS_BYTES_MAX (64u << 20)
#define NOT_CODE_KEPT 64

/* What a file is known by. Padded with zeroes, so that it can be compared as bytes. */
struct binary_key {
	u8 type;	/* 'b' build id and hash, 'd' device and inode, 'v' vDSO, 'u' unreadable */
	u8 build_id_bytes;
	u8 build_id[BUILD_ID_MAX];
	u8 htlhash[16];
	u32 dev_major, dev_minor;
	u64 inode;
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

struct binaries {
	struct reader *reader;
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

int binaries_new(struct reader *reader, struct peek *peek, struct binaries **ret_binaries)
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

/* A build id alone proves nothing: any file can claim any. */
static struct binary_key key_of_contents(const struct exe_info *info)
{
	struct binary_key key;

	memset(&key, 0, sizeof(key));
	key.type = 'b';
	key.build_id_bytes = info->build_id_bytes;
	memcpy(key.build_id, info->build_id, info->build_id_bytes);
	memcpy(key.htlhash, info->htlhash, sizeof(key.htlhash));
	return key;
}

/* Opens and identifies a file, the caller's to close in any case. All processes have the same vDSO: ours serves. */
static int open_file(struct binaries *b, u32 pid, const struct mapping *m, struct mapped_file *ret_file,
		     struct exe_info *ret_info)
{
	int r = m->kind == MAPPING_VDSO ? vdso_open() : mapped_file_open(b->peek, pid, m, ret_file);

	if (r < 0)
		return r;
	if (m->kind == MAPPING_VDSO)
		ret_file->fd = r;
	return reader_identify(b->reader, ret_file->fd, ret_info);
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

/* Opens what is not known yet. It may turn out to be a known file under another key. */
static struct binary *binaries_open(struct binaries *b, u32 pid, const struct mapping *m, const struct binary_key *key)
{
	_cleanup_(mapped_file_closep) struct mapped_file file = { -1, -1 };
	struct binary_key by_contents;
	struct binary *binary;
	struct exe_info info;
	int r = open_file(b, pid, m, &file, &info);

	if (r < 0) {
		b->stats.unreadable += r != -ENOEXEC;
		b->stats.not_elf += r == -ENOEXEC;
		if (r != -ENOEXEC || !is_memfd(m))
			return binaries_add_unreadable(b, m);
		set_not_code(b, m);
		return NULL;
	}
	by_contents = key_of_contents(&info);
	binary = binaries_take(b, m, &file, &info, &by_contents);
	if (binary) {
		(void)binaries_set(b, key, binary->id);
		if (info.build_id_bytes)
			(void)binaries_set(b, &by_contents, binary->id);
	}
	return binary;
}

struct binary *binaries_resolve(struct binaries *b, u32 pid, const struct mapping *mapping)
{
	struct binary_key key = key_of_mapping(mapping);
	struct binary *binary = binaries_find(b, &key);

	if (!binary && !(is_memfd(mapping) && is_not_code(b, mapping)))
		binary = binaries_open(b, pid, mapping, &key);
	return binary ? binary_ref(binary) : NULL;
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
