// SPDX-License-Identifier: Apache-2.0
#include "store/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/hex.h"
#include "base/interner.h"
#include "profile/any.h"

/* Compared as bytes: an address, or the start of a function, in an executable. */
struct place {
	u64 address;
	u64 exe;
};

struct address {
	u32 next;		/* of its executable, the one that came before; 0: none */
	u32 function;		/* + 1; 0: not known */
};

struct names {
	struct arena arena;
	struct interner ids, addresses, functions;	/* build ids; struct place; struct place */
	struct names_exe *exes;				/* by number of the id */
	struct address *of_address;			/* by number of the address */
	struct name_function *of_function;
	u32 exe_cap, address_cap, function_cap;
	u64 left_out;
};

const char *name_source_text(enum name_source source)
{
	static const char *const texts[] = {
#define X(id, text) text,
		NAME_SOURCES(X)
#undef X
	};

	return source < NAME_SOURCE_COUNT ? texts[source] : texts[NAME_NONE];
}

struct names *names_new(void)
{
	_cleanup_(names_freep) struct names *names = calloc(1, sizeof(*names));
	static const struct place nowhere;

	if (!names)
		return NULL;
	arena_init(&names->arena, NAMES_BYTES_MAX);
	interner_init(&names->ids, &names->arena, NAMES_EXES_MAX);
	interner_init(&names->addresses, &names->arena, NAMES_ADDRESSES_MAX);
	interner_init(&names->functions, &names->arena, NAMES_ADDRESSES_MAX);
	/* Number 0 ends lists. */
	if (interner_add(&names->addresses, &nowhere, sizeof(nowhere), NULL) == INTERNER_NONE)
		return NULL;
	return TAKE(names);
}

void names_free(struct names *names)
{
	if (!names)
		return;
	interner_done(&names->ids);
	interner_done(&names->addresses);
	interner_done(&names->functions);
	arena_done(&names->arena);
	free(names->exes);
	free(names->of_address);
	free(names->of_function);
	free(names);
}

static struct str copy(struct names *names, struct str s)
{
	char *at;

	s.len = s.len > NAMES_TEXT_BYTES_MAX ? NAMES_TEXT_BYTES_MAX : s.len;
	at = s.len ? arena_copy(&names->arena, s.at, s.len) : NULL;
	return at ? (struct str){ at, s.len } : (struct str){ "", 0 };
}

static bool has_name(const struct names *names, u32 address)
{
	u32 function = names->of_address[address].function;

	return function && names->of_function[function - 1].name.len;
}

/* ---- Executables and their addresses ------------------------------------------------------ */

/* Numbers are from 1 on in places, so that no place is all zeroes but the first. */
static struct place place_of(u32 exe, u64 address)
{
	return (struct place){ address, (u64)exe + 1 };
}

s64 names_exe_find(const struct names *names, struct str build_id)
{
	u32 number = build_id.len ? interner_find(&names->ids, build_id.at, build_id.len) : INTERNER_NONE;

	return number == INTERNER_NONE ? -ENOENT : (s64)number;
}

struct names_exe *names_exe(struct names *names, u32 number)
{
	return number < names->ids.count ? &names->exes[number] : NULL;
}

static bool is_from_root(struct str path)
{
	return path.len && path.at[0] == '/';
}

/* Where somebody else has it is worth another look at once. */
static void better_path(struct names *names, struct names_exe *exe, struct str path)
{
	if (exe->path.len && (is_from_root(exe->path) || !is_from_root(path)))
		return;
	exe->path = copy(names, path);
	exe->tried = 0;
}

static s64 add_exe(struct names *names, struct str build_id, struct str path)
{
	bool is_new;
	u32 number;

	if (!build_id.len || build_id.len > NAMES_ID_BYTES_MAX)
		return -EINVAL;
	if (array_reserve(&names->exes, &names->exe_cap, names->ids.count + 1, sizeof(*names->exes)) < 0)
		return -ENOMEM;
	number = interner_add(&names->ids, build_id.at, build_id.len, &is_new);
	if (number == INTERNER_NONE)
		return -E2BIG;
	if (is_new)
		names->exes[number] = (struct names_exe){
			.build_id = { interner_get(&names->ids, number)->at, build_id.len },
			.path = copy(names, path),
		};
	else
		better_path(names, &names->exes[number], path);
	return number;
}

static s64 add_address(struct names *names, u32 exe, u64 address)
{
	struct place place = place_of(exe, address);
	bool is_new;
	u32 number;

	if (array_reserve(&names->of_address, &names->address_cap, names->addresses.count + 1,
			  sizeof(*names->of_address)) < 0)
		return -ENOMEM;
	number = interner_add(&names->addresses, &place, sizeof(place), &is_new);
	if (number == INTERNER_NONE)
		return -E2BIG;
	if (is_new) {
		names->of_address[number] = (struct address){ .next = names->exes[exe].newest };
		names->exes[exe].newest = number;
		names->exes[exe].addresses++;
	}
	return number;
}

void names_note_path(struct names *names, struct str build_id, struct str path)
{
	if (is_from_root(path))
		(void)add_exe(names, build_id, path);
}

u64 names_want(struct names *names, struct str build_id, struct str path, u64 address)
{
	s64 exe = add_exe(names, build_id, path);
	const struct name_function *function = exe < 0 ? NULL : names_find(names, build_id, address);

	if (exe == -EINVAL || (function && function->start == address))
		return address;
	if (exe < 0 || add_address(names, (u32)exe, address) < 0)
		names->left_out++;
	return function ? function->start : address;
}

u32 names_unnamed(const struct names *names, u32 from, u32 until, u64 *ret_addresses, u32 max)
{
	u32 count = 0;

	for (u32 at = from; at && at != until && count < max; at = names->of_address[at].next) {
		const struct place *place = interner_get(&names->addresses, at)->at;

		if (!has_name(names, at))
			ret_addresses[count++] = place->address;
	}
	return count;
}

/* ---- Functions ----------------------------------------------------------------------------- */

const struct name_function *names_find(const struct names *names, struct str build_id, u64 address)
{
	s64 exe = names_exe_find(names, build_id);
	struct place place;
	u32 number;

	if (exe < 0)
		return NULL;
	place = place_of((u32)exe, address);
	number = interner_find(&names->addresses, &place, sizeof(place));
	if (number != INTERNER_NONE && names->of_address[number].function)
		return &names->of_function[names->of_address[number].function - 1];
	number = interner_find(&names->functions, &place, sizeof(place));
	return number == INTERNER_NONE ? NULL : &names->of_function[number];
}

/* Code of one function may come from several files: the first one that is told is kept. */
static int tell(struct names *names, struct name_function *known, const struct name_function *function)
{
	int news = 0;

	if (function->file.len && !known->file.len) {
		known->file = copy(names, function->file);
		news = NAMES_NEWS;
	}
	if (!function->name.len)
		return news;
	if (!str_equal(known->name, function->name)) {
		known->name = copy(names, function->name);
		news = NAMES_NEWS;
	}
	known->source = function->source;
	return news;
}

static s64 add_function(struct names *names, u32 exe, const struct name_function *function, int *ret_news)
{
	struct place place = place_of(exe, function->start);
	bool is_new;
	u32 number;

	if (array_reserve(&names->of_function, &names->function_cap, names->functions.count + 1,
			  sizeof(*names->of_function)) < 0)
		return -ENOMEM;
	number = interner_add(&names->functions, &place, sizeof(place), &is_new);
	if (number == INTERNER_NONE)
		return -E2BIG;
	if (is_new)
		names->of_function[number] =
			(struct name_function){ .start = function->start, .name = { "", 0 }, .file = { "", 0 } };
	*ret_news = tell(names, &names->of_function[number], function);
	return number;
}

int names_put(struct names *names, struct str build_id, u64 address, const struct name_function *function)
{
	s64 exe = add_exe(names, build_id, (struct str){ "", 0 });
	s64 number = exe < 0 ? exe : add_address(names, (u32)exe, address);
	bool had = number >= 0 && has_name(names, (u32)number);
	int news = 0;
	s64 of;

	if (!function->name.len && (had || function->start == address))
		return 0;
	of = number < 0 ? number : add_function(names, (u32)exe, function, &news);
	if (of < 0)
		return (int)of;
	if (names->of_address[number].function != (u32)of + 1)
		news |= NAMES_PLACED;
	names->of_address[number].function = (u32)of + 1;
	return news | (!had && has_name(names, (u32)number) ? NAMES_NAMED : 0);
}

struct names_stats names_stats(const struct names *names)
{
	struct names_stats stats = { .exes = names->ids.count,
				     .addresses = names->addresses.count - 1,
				     .left_out = names->left_out };

	for (u32 i = 1; i < names->addresses.count; i++)
		stats.named += has_name(names, i);
	return stats;
}

bool names_is_place(struct str name, struct str path, u64 *ret_address)
{
	struct str base = str_base_name(path);
	u64 address = 0;

	if (!base.len || name.len <= base.len + 3 || name.len > base.len + 19 || memcmp(name.at, base.at, base.len) ||
	    memcmp(name.at + base.len, "+0x", 3))
		return false;
	for (u32 i = base.len + 3; i < name.len; i++) {
		int digit = hex_digit(name.at[i]);

		if (digit < 0)
			return false;
		address = address << 4 | (u64)digit;
	}
	*ret_address = address;
	return true;
}

bool names_frame_is_place(struct str type, struct str name, struct str path, u64 address, u64 *ret_address)
{
	if (type.len && !str_equal(type, STR("native")))
		return false;
	if (name.len)
		return names_is_place(name, path, ret_address);
	*ret_address = address;
	return address != 0;
}
