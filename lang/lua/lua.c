// SPDX-License-Identifier: Apache-2.0
/* Lua 5.1 to 5.4, of its own interpreter, wherever it is linked into. */
#include "lang/lua/lua.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lang/lang.h"
#include "lang/lua/lua.skel.h"
#include "lang/lua/lua_file.h"
#include "lang/lua/lua_names.h"
#include "lang/memory.h"

struct lua {
	const struct lua_layout *layout;
	struct memory memory;
};

static const void *object(size_t *ret_bytes)
{
	return lua_bpf__elf_bytes(ret_bytes);
}

static int attach(const struct lang_process *process, const struct lang_file *file, const struct lang_place *place,
		  struct runtime_slot *slot, void **ret_state)
{
	const struct lua_layout *layout;
	struct lua_facts facts;
	struct lua_slot words;
	struct lua *lua;

	memcpy(&facts, file->facts, sizeof(facts));
	layout = lua_layout_of((u32)facts.release);
	if (!layout || !facts.has_loop)
		return -EOPNOTSUPP;	/* another version than those we know, or not built as they are */
	words = (struct lua_slot){
		.status_shift = layout->status % 8 * 8, .depth = layout->depth, .call_pc = layout->call_pc / 8,
		.call_status = layout->call_status / 8, .call_status_shift = layout->call_status % 8 * 8,
		.fresh = layout->fresh, .tail = layout->tail, .call_function = layout->call_function / 8,
		.call_base = layout->call_base / 8, .loop_call = layout->fresh ? 0 : layout->codes.call,
		.is_array = layout->is_array, .jump = layout->jump, .protected = layout->protected,
		.closure_proto = layout->closure_proto, .code = layout->code,
		.code_count = layout->code_count, .keeps_pc = layout->keeps_pc,
	};
	lua = calloc(1, sizeof(*lua));
	if (!lua)
		return -ENOMEM;
	lua->layout = layout;
	memcpy(slot->word, &words, sizeof(words));
	*ret_state = lua;
	return 0;
}

static void detach(void *state)
{
	free(state);
}

/* A frame's words, taken apart. */
struct lua_place {
	u64 proto, caller;	/* 0: written in C; not known */
	u32 pc, caller_pc;
};

static struct lua_place place_of(const u64 frame[2])
{
	u64 places = (frame[0] & ((1u << LUA_PLACES_HIGH) - 1)) << LUA_PLACES_LOW |
		     (frame[1] & ((1u << LUA_PLACES_LOW) - 1));

	return (struct lua_place){
		.proto = (frame[0] >> LUA_PLACES_HIGH & LUA_PROTO_MASK) << 3,
		.caller = frame[1] >> LUA_PLACES_LOW << 4,
		.pc = (u32)(places >> LUA_CALLER_BITS), .caller_pc = (u32)places & LUA_CALLER_NONE,
	};
}

/* What cannot be read of a caller, which may be gone by now, leaves a function without a name. */
static void name_by_caller(struct lua *lua, const struct lua_place *place, char ret_name[LUA_NAME_MAX])
{
	ret_name[0] = 0;
	if (place->caller && place->caller_pc != LUA_CALLER_NONE)
		lua_names_called(lua->layout, &lua->memory, place->caller, place->caller_pc, ret_name);
	if (memory_err(&lua->memory))
		ret_name[0] = 0;
	lua->memory.err = 0;
}

/* A function of Lua, as tracebacks call it: without a name, by where it is. */
static int name_function(struct lua *lua, const struct lua_place *place, char name[LUA_NAME_MAX],
			 struct lang_names *names)
{
	char file[LANG_TEXT_MAX + 1], text[LANG_TEXT_MAX + 64];
	u32 pc = place->pc == LUA_PC_NONE ? 0 : place->pc, first, line;

	if (!lua_names_is_proto(lua->layout, &lua->memory, place->proto, pc))
		return -ENOENT;
	lua_names_file(lua->layout, &lua->memory, place->proto, file, sizeof(file));
	first = lua_names_first_line(lua->layout, &lua->memory, place->proto);
	line = place->pc == LUA_PC_NONE ? 0 : lua_names_line(lua->layout, &lua->memory, place->proto, pc);
	if (memory_err(&lua->memory))
		return -ENOENT;
	if (!first)
		(void)snprintf(text, sizeof(text), "main chunk");
	else if (name[0])
		(void)snprintf(text, sizeof(text), "%s", name);
	else
		(void)snprintf(text, sizeof(text), "function <%s:%u>", file, first);
	lang_names_line(names, text, file, line);
	return 0;
}

static int resolve(void *state, const struct lang_process *process, const u64 frame[2], struct lang_names *names)
{
	struct lua_place place = place_of(frame);
	char name[LUA_NAME_MAX];
	struct lua *lua = state;

	memory_begin(&lua->memory, process);
	name_by_caller(lua, &place, name);
	if (place.proto)
		return name_function(lua, &place, name, names);
	lang_names_line(names, name[0] ? name : "[C]", "", 0);
	return 0;
}

const struct lang_ops lua_ops = {
	.look = { "lua", "Lua", 0x86a8d4, "blue" },
	.tracer = "lua",
	.object = object,
	.attach = attach,
	.detach = detach,
	.resolve = resolve,
};
