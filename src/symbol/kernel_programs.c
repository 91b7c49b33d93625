// SPDX-License-Identifier: Apache-2.0
#include "symbol/kernel_programs.h"

#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096u

void kernel_programs_done(struct kernel_programs *programs)
{
	for (u32 i = 0; i < programs->count; i++)
		free(programs->list[i].name);
	free(programs->list);
	*programs = (struct kernel_programs){ 0 };
}

/* How many programs start at or before the address. */
static u32 count_up_to(const struct kernel_programs *programs, u64 va)
{
	u32 low = 0, high = programs->count;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (programs->list[middle].va <= va)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool covers(const struct kernel_program *p, u64 va)
{
	return va >= p->va && (p->bytes ? va - p->va < p->bytes : va <= (p->va | (PAGE_BYTES - 1)));
}

static void forget(struct kernel_programs *programs, u32 i)
{
	free(programs->list[i].name);
	memmove(&programs->list[i], &programs->list[i + 1], (--programs->count - i) * sizeof(*programs->list));
}

/* Drops all that the new program lies upon; one of unknown size only gets a bound. */
static void clear_range(struct kernel_programs *programs, u64 va, u32 bytes)
{
	u32 i = count_up_to(programs, va);

	if (i && covers(&programs->list[i - 1], va) && (programs->list[i - 1].bytes || programs->list[i - 1].va == va))
		forget(programs, --i);
	while (i < programs->count && programs->list[i].va - va < bytes)
		forget(programs, i);
}

static bool make_room(struct kernel_programs *programs)
{
	u32 cap = programs->cap ? programs->cap * 2 : 16;
	struct kernel_program *list;

	if (programs->count < programs->cap)
		return true;
	if (programs->cap < KERNEL_PROGRAMS_MAX) {
		list = reallocarray(programs->list, cap, sizeof(*list));
		if (!list)
			return false;
		programs->list = list;
		programs->cap = cap;
		return true;
	}
	for (u32 i = 0; i < programs->count; i++) {
		if (programs->list[i].gone) {
			forget(programs, i);
			return true;
		}
	}
	return false;
}

void kernel_programs_add(struct kernel_programs *programs, u64 va, u32 bytes, const char *name)
{
	char *copy = *name ? strndup(name, KERNEL_PROGRAM_NAME) : NULL;
	u32 i;

	clear_range(programs, va, bytes);
	if (!copy || !make_room(programs)) {
		free(copy);
		programs->dropped++;
		return;
	}
	i = count_up_to(programs, va);
	memmove(&programs->list[i + 1], &programs->list[i], (programs->count++ - i) * sizeof(*programs->list));
	programs->list[i] = (struct kernel_program){ .va = va, .bytes = bytes, .name = copy };
}

void kernel_programs_remove(struct kernel_programs *programs, u64 va)
{
	u32 i = count_up_to(programs, va);

	if (i && programs->list[i - 1].va == va)
		programs->list[i - 1].gone = true;
}

bool kernel_programs_set_bytes(struct kernel_programs *programs, u64 va, u32 bytes)
{
	u32 i = count_up_to(programs, va);

	if (!i || programs->list[i - 1].va != va || !bytes)
		return false;
	programs->list[i - 1].bytes = bytes;
	return true;
}

bool kernel_programs_find(const struct kernel_programs *programs, u64 va, struct ksym *ret_ksym)
{
	u32 i = count_up_to(programs, va);

	if (!i || !covers(&programs->list[i - 1], va))
		return false;
	*ret_ksym = (struct ksym){
		.va = programs->list[i - 1].va, .name = programs->list[i - 1].name, .module = "bpf",
	};
	return true;
}
