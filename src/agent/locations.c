// SPDX-License-Identifier: Apache-2.0
#include "agent/locations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hex.h"
#include "base/interner.h"
#include "lang/lang.h"
#include "proc/binary.h"
#include "profile/profile.h"
#include "symbol/demangle.h"
#include "symbol/kernel_id.h"
#include "symbol/symbolizer.h"
#include "trace/window.h"

#define FRAMES_MAX (16u << 20)
#define LINES_MAX 64
#define MODULES_MAX 64
#define MAPPINGS_KEPT 256	/* a power of 2 */

/* The mapping made last for a kernel module: its build id is in a file. */
struct module_mapping {
	char module[64];
	u32 mapping;
};

/* The mapping made last for a segment of a binary: most frames lie in a few. */
struct segment_mapping {
	const struct binary *binary;
	u32 segment;
	u32 mapping;
};

struct locations {
	struct profile *profile;
	const struct window *window;
	struct symbolizer *symbolizer;
	struct arena arena;
	struct interner frames;		/* kernel addresses are told apart by their top bits */
	u32 *location;			/* by number of the frame */
	u32 location_cap;
	struct module_mapping modules[MODULES_MAX];
	u32 module_count;
	struct segment_mapping segments[MAPPINGS_KEPT];
};

struct locations *locations_new(struct profile *profile, const struct window *window,
					    struct symbolizer *symbolizer)
{
	struct locations *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->profile = profile;
	b->window = window;
	b->symbolizer = symbolizer;
	arena_init(&b->arena, SIZE_MAX / 2);
	interner_init(&b->frames, &b->arena, FRAMES_MAX);
	return b;
}

void locations_free(struct locations *b)
{
	if (!b)
		return;
	interner_done(&b->frames);
	arena_done(&b->arena);
	free(b->location);
	free(b);
}

static u32 add_function(struct profile *profile, const struct symbol_line *line)
{
	return profile_add_function(profile, &(struct profile_function){
		.name = profile_add_cstring(profile, line->function),
		.system_name = profile_add_cstring(profile, line->system_name),
		.filename = profile_add_cstring(profile, line->file),
		.start_line = line->start_line,
	});
}

static u32 add_location(struct locations *b, u32 mapping, u64 address, const struct symbol_name *name, const char *type)
{
	static const struct symbol_line unknown = { .function = "[unknown]", .system_name = "", .file = "" };
	struct profile_line lines[LINES_MAX];
	u32 count = name ? name->line_count : 1;
	u32 frame_type = profile_add_attribute_string(b->profile, "profile.frame.type", type);
	/* The physical function comes last: it stays when the chain is too long. */
	u32 skipped = count > LINES_MAX ? count - LINES_MAX : 0;

	for (u32 i = skipped; i < count; i++) {
		const struct symbol_line *line = name ? &name->lines[i] : &unknown;

		lines[i - skipped] = (struct profile_line){
			.function = add_function(b->profile, line), .line = line->line, .column = line->column
		};
	}
	return profile_add_location(b->profile, &(struct profile_location){
		.mapping = mapping,
		.address = address,
		.lines = lines,
		.line_count = count - skipped,
		.attributes = { &frame_type, 1 },
	});
}

static void add_hex_attribute(struct profile *profile, const char *key, const u8 *bytes, u32 count, u32 *attributes,
			      u32 *attribute_count)
{
	char hex[2 * BUILD_ID_MAX + 1] = "";

	hex_write(bytes, count < BUILD_ID_MAX ? count : BUILD_ID_MAX, hex);
	attributes[(*attribute_count)++] = profile_add_attribute_string(profile, key, hex);
}

/* The segment that an address lies in; segment_count if it is in none. */
static u32 segment_of(const struct exe_info *info, u64 ea)
{
	u32 i = 0;

	while (i < info->segment_count &&
	       (ea < info->segment[i].ea || ea - info->segment[i].ea >= info->segment[i].bytes))
		i++;
	return i;
}

/* The mapping of a segment, at its ELF addresses. */
static u32 add_mapping(struct profile *profile, const struct binary *binary, u32 segment)
{
	const struct exe_info *info = &binary->info;
	struct profile_mapping mapping = { .filename = profile_add_cstring(profile, binary->path) };
	u32 attributes[3], count = 0;

	if (segment < info->segment_count) {
		const struct exe_segment *s = &info->segment[segment];

		mapping.start_va = s->ea;
		mapping.limit_va = s->ea + s->bytes;
		mapping.file_offset = s->file_offset;
	}
	if (info->build_id_bytes)
		add_hex_attribute(profile, "process.executable.build_id.gnu", info->build_id, info->build_id_bytes,
				  attributes, &count);
	if (info->go_build_id[0])
		attributes[count++] =
			profile_add_attribute_string(profile, "process.executable.build_id.go", info->go_build_id);
	if (binary->fd >= 0)
		add_hex_attribute(profile, "process.executable.build_id.htlhash", info->htlhash, sizeof(info->htlhash),
				  attributes, &count);
	mapping.attributes = (struct indices){ attributes, count };
	return profile_add_mapping(profile, &mapping);
}

static u32 user_mapping(struct locations *b, const struct binary *binary, u64 ea)
{
	u32 segment = segment_of(&binary->info, ea);
	struct segment_mapping *kept = &b->segments[(binary->id * 4 + segment) % MAPPINGS_KEPT];

	if (kept->binary != binary || kept->segment != segment)
		*kept = (struct segment_mapping){ binary, segment, add_mapping(b->profile, binary, segment) };
	return kept->mapping;
}

/* The kernel and each of its modules is a mapping without bounds: addresses are those of the running kernel. */
static u32 add_kernel_mapping(struct profile *profile, const char *module)
{
	struct profile_mapping mapping = { 0 };
	u8 id[BUILD_ID_MAX];
	u32 attributes[1], count = 0;
	char name[80];
	int bytes;

	if (!strcmp(module, "vmlinux"))
		snprintf(name, sizeof(name), "[kernel.kallsyms]");
	else
		snprintf(name, sizeof(name), "[%s]", module);
	mapping.filename = profile_add_cstring(profile, name);
	bytes = kernel_build_id("/sys", module, id);
	if (bytes > 0)
		add_hex_attribute(profile, "process.executable.build_id.gnu", id, (u32)bytes, attributes, &count);
	mapping.attributes = (struct indices){ attributes, count };
	return profile_add_mapping(profile, &mapping);
}

/* The function of such a frame. Native code that was generated may have the names of C++: LLVM's JITs tell them so. */
static u32 add_named_function(struct profile *profile, const struct window_frame *frame, const struct window_line *line)
{
	struct symbol_line named = { .function = line->function, .system_name = "", .file = line->file };
	char readable[DEMANGLE_MAX];

	if (!strcmp(frame->type, "native") && demangle(line->function, readable)) {
		named.function = readable;
		named.system_name = line->function;
	}
	return add_function(profile, &named);
}

/* A frame that its runtime's language has named. */
static u32 make_named(struct locations *b, const struct window_frame *frame)
{
	u32 type = profile_add_attribute_string(b->profile, "profile.frame.type", frame->type);
	struct profile_line lines[LINES_MAX];
	u32 skipped = frame->line_count > LINES_MAX ? frame->line_count - LINES_MAX : 0;

	for (u32 i = skipped; i < frame->line_count; i++) {
		const struct window_line *line = &frame->lines[i];

		lines[i - skipped] = (struct profile_line){
			.function = add_named_function(b->profile, frame, line),
			.line = line->line,
		};
	}
	return profile_add_location(b->profile, &(struct profile_location){
		.lines = lines,
		.line_count = frame->line_count - skipped,
		.attributes = { &type, 1 },
	});
}

/* The type of a frame in a file: that of the language, where its own tables have named it. */
static const char *type_of(const struct symbol_name *name)
{
	const struct lang_ops *lang = name ? lang_list[name->lang % LANG_MAX] : NULL;

	return lang ? lang->look.type : "native";
}

/* What stands for so many frames in the middle of a deep stack. */
static u32 make_gap(struct locations *b, u64 count)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "[… %llu frames …]", (unsigned long long)count);
	return locations_mark(b, text);
}

static u32 make_user(struct locations *b, u64 frame)
{
	const struct window_frame *named = window_frame(b->window, frame);
	const struct symbol_name *name;
	struct binary *binary = NULL;
	u64 ea = frame & FRAME_EA_MASK;

	if (named)
		return make_named(b, named);
	if (frame >> FRAME_KIND_SHIFT == FRAME_GAP)
		return make_gap(b, frame & FRAME_LOW_MASK);
	if (frame >> FRAME_KIND_SHIFT == FRAME_EXE)
		binary = window_binary(b->window, (u32)(frame >> FRAME_BINARY_SHIFT & FRAME_BINARY_MASK));
	if (!binary)
		return add_location(b, 0, frame & FRAME_VA_MASK, NULL, "native");
	name = symbolizer_find(b->symbolizer, binary, ea);
	return add_location(b, user_mapping(b, binary, ea), ea, name, type_of(name));
}

static u32 kernel_mapping(struct locations *b, const char *module)
{
	struct module_mapping *m;

	for (u32 i = 0; i < b->module_count; i++)
		if (!strcmp(b->modules[i].module, module))
			return b->modules[i].mapping;
	if (b->module_count == MODULES_MAX || strlen(module) >= sizeof(m->module))
		return add_kernel_mapping(b->profile, module);
	m = &b->modules[b->module_count++];
	snprintf(m->module, sizeof(m->module), "%s", module);
	m->mapping = add_kernel_mapping(b->profile, module);
	return m->mapping;
}

static u32 make_kernel(struct locations *b, u64 va)
{
	const struct symbol_name *name = symbolizer_find_kernel(b->symbolizer, va);

	return add_location(b, kernel_mapping(b, name ? name->module : "vmlinux"), va, name, "kernel");
}

/* Frame words have their kind in the top bits, a small number; kernel addresses have all of those set. */
static u32 location_of(struct locations *b, u64 word, u32 (*make)(struct locations *b, u64 word))
{
	bool is_new;
	u32 number = interner_add(&b->frames, &word, sizeof(word), &is_new);

	if (number == INTERNER_NONE)
		return make(b, word);
	if (number >= b->location_cap) {
		u32 cap = b->location_cap ? b->location_cap * 2 : 1024;
		u32 *grown = reallocarray(b->location, cap, sizeof(*grown));

		if (!grown)
			return 0;
		b->location = grown;
		b->location_cap = cap;
	}
	if (is_new)
		b->location[number] = make(b, word);
	return b->location[number];
}

u32 locations_kernel(struct locations *b, u64 va)
{
	return location_of(b, va, make_kernel);
}

u32 locations_user(struct locations *b, u64 frame)
{
	return location_of(b, frame & ~FRAME_GUESSED, make_user);
}

u32 locations_mark(struct locations *b, const char *mark)
{
	struct symbol_line line = { .function = mark, .system_name = "", .file = "" };
	struct symbol_name name = { .line_count = 1, .lines = &line };

	return add_location(b, 0, 0, &name, "abort-marker");
}
