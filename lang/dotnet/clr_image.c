// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_image.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "lang/dotnet/native_format.h"
#include "lang/memory.h"

#define PE_SIGNATURE 0x4550u
#define PE_32 0x10b
#define PE_64 0x20b
#define PE_CLI_DIRECTORY 14
#define MACHINE_ARM64 0xaa64u
#define MACHINE_OS_LINUX 0x7b79u	/* the machine is xored with it */
#define CLI_METADATA 8
#define CLI_NATIVE 64
#define READY_TO_RUN 0x525452u		/* RTR */
#define SECTIONS_MAX 64
#define SECTION_FUNCTIONS 102
#define SECTION_METHODS 103
#define SECTION_DEBUG 105
#define SECTION_INSTANCES 109
#define FUNCTIONS_MAX (1u << 22)

struct section {
	u64 va;
	u32 bytes;
};

struct sections {
	struct section functions, methods, instances, debug;
	u16 version;
};

/* Where the CLI header is, by the headers of a PE file; 0 if it is none. */
static u64 find_cli(struct memory *m, struct clr_image *image)
{
	u64 pe = image->base_va + memory_u32(m, image->base_va + 0x3c), optional = pe + 24, directories;
	u16 machine = memory_u16(m, pe + 4), magic = memory_u16(m, optional);
	u32 rva;

	if (memory_u32(m, pe) != PE_SIGNATURE || (magic != PE_32 && magic != PE_64))
		return 0;
	image->function_bytes = machine == MACHINE_ARM64 || machine == (MACHINE_ARM64 ^ MACHINE_OS_LINUX) ? 8 : 12;
	directories = optional + (magic == PE_64 ? 112 : 96);
	rva = memory_u32(m, directories + 8 * PE_CLI_DIRECTORY);
	return rva && !memory_err(m) ? image->base_va + rva : 0;
}

static int find_sections(struct memory *m, u64 base_va, u64 header, struct sections *ret_sections)
{
	u32 count = memory_u32(m, header + 12);

	ret_sections->version = memory_u16(m, header + 4);
	if (memory_err(m) || memory_u32(m, header) != READY_TO_RUN)
		return -EBADMSG;
	for (u32 i = 0; i < count && i < SECTIONS_MAX; i++) {
		u64 at = header + 16 + 12 * (u64)i;
		u32 type = memory_u32(m, at);
		struct section section = { base_va + memory_u32(m, at + 4), memory_u32(m, at + 8) };

		if (type == SECTION_FUNCTIONS)
			ret_sections->functions = section;
		else if (type == SECTION_METHODS)
			ret_sections->methods = section;
		else if (type == SECTION_INSTANCES)
			ret_sections->instances = section;
		else if (type == SECTION_DEBUG)
			ret_sections->debug = section;
	}
	return memory_err(m) ? memory_err(m) : 0;
}

/* The number of a method's first function: what lies below tells of other things (vm/readytoruninfo.cpp). */
static u32 function_of(u32 id)
{
	return id & 1 ? id >> 2 : id >> 1;
}

struct reading {
	struct clr_image *image;
	u32 cap;
};

static int add_method(void *arg, u32 method, u32 id)
{
	struct reading *r = arg;
	struct clr_image *image = r->image;

	if (image->count == r->cap) {
		u32 cap = r->cap ? 2 * r->cap : 256;
		void *more;

		if (cap > CLR_IMAGE_METHODS_MAX)
			return -E2BIG;
		more = reallocarray(image->methods, cap, sizeof(*image->methods));
		if (!more)
			return -ENOMEM;
		image->methods = more;
		r->cap = cap;
	}
	image->methods[image->count++] = (struct clr_image_method){ function_of(id), method };
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct clr_image_method *x = a, *y = b;

	return (x->function > y->function) - (x->function < y->function);
}

int clr_image_open(struct memory *m, u64 base_va, struct clr_image **ret_image)
{
	_cleanup_(clr_image_freep) struct clr_image *image = calloc(1, sizeof(*image));
	struct sections sections = { 0 };
	struct reading reading = { .image = image };
	u64 cli;
	int r;

	if (!image)
		return -ENOMEM;
	image->base_va = base_va;
	cli = find_cli(m, image);
	if (!cli)
		return memory_err(m) ? memory_err(m) : -EBADMSG;
	r = metadata_open(m, base_va + memory_u32(m, cli + CLI_METADATA), &image->metadata);
	if (!r)
		r = find_sections(m, base_va, base_va + memory_u32(m, cli + CLI_NATIVE), &sections);
	if (r < 0)
		return r;
	image->debug_va = sections.debug.va;
	image->debug_bytes = sections.debug.bytes;
	image->debug.kind = sections.version < 16 ? CLR_DEBUG_NIBBLES :
			    sections.version == 16 ? CLR_DEBUG_PACKED : CLR_DEBUG_FAT;
	image->functions_va = sections.functions.va;
	image->function_count = sections.functions.bytes / image->function_bytes;
	if (image->function_count > FUNCTIONS_MAX)
		return -EBADMSG;
	/* As many as there is room for. */
	if (sections.methods.va)
		(void)native_array_read(m, sections.methods.va, sections.methods.bytes, add_method, &reading);
	if (sections.instances.va)
		(void)native_instances_read(m, sections.instances.va, sections.instances.bytes, add_method,
					    &reading);
	if (image->count)
		qsort(image->methods, image->count, sizeof(*image->methods), compare);
	*ret_image = TAKE(image);
	return 0;
}

void clr_image_free(struct clr_image *image)
{
	if (image)
		free(image->methods);
	free(image);
}

/* The number of the function at an address, one more than that: 0 if there is none. */
static u32 find_function(struct memory *m, const struct clr_image *image, u32 rva)
{
	u32 lo = 0, hi = image->function_count;

	while (lo < hi && !memory_err(m)) {
		u32 mid = lo + (hi - lo) / 2;

		if (memory_u32(m, image->functions_va + (u64)mid * image->function_bytes) <= rva)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct clr_image_method *clr_image_method_at(struct memory *m, const struct clr_image *image, u64 va)
{
	u64 rva = va - image->base_va;
	u32 function = rva <= UINT32_MAX ? find_function(m, image, (u32)rva) : 0, lo = 0, hi = image->count;

	if (!function || memory_err(m))
		return NULL;
	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (image->methods[mid].function <= function - 1)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? &image->methods[lo - 1] : NULL;
}

int clr_image_il(struct memory *m, const struct clr_image *image, const struct clr_image_method *method, u64 va,
		 u32 *ret_il)
{
	u64 start_va = image->base_va + memory_u32(m, image->functions_va +
						      (u64)method->function * image->function_bytes);
	u64 at = image->debug_va ? native_array_find(m, image->debug_va, image->debug_bytes, method->function) : 0;

	if (memory_err(m))
		return memory_err(m);
	if (!at || va < start_va || va - start_va > UINT32_MAX)
		return -ENODATA;
	return clr_debug_find(m, &image->debug, native_format_shared(m, at), (u32)(va - start_va), ret_il);
}

void clr_image_functions(struct memory *m, const struct clr_image *image, u64 start_va, u64 end_va,
			 void (*function)(void *arg, u64 start_va, u64 end_va), void *arg)
{
	u32 first = find_function(m, image, (u32)(start_va - image->base_va));

	if (image->function_bytes != 12)	/* the others do not say where they end */
		return;
	for (u32 i = first ? first - 1 : 0; i < image->function_count && !memory_err(m); i++) {
		u64 at = image->functions_va + (u64)i * image->function_bytes;
		u64 from = image->base_va + memory_u32(m, at), to = image->base_va + memory_u32(m, at + 4);

		if (memory_err(m) || from >= end_va)
			return;
		if (from < to)
			function(arg, from, to);
	}
}
