// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_modules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "lang/dotnet/clr_file.h"
#include "lang/dotnet/clr_image.h"
#include "lang/dotnet/clr_layout.h"
#include "lang/dotnet/metadata.h"
#include "lang/memory.h"

#define TABLE_METHODS 0x06
#define LOOK_NS 100000000ull
#define LOOK_REST 4

static struct clr_modules_entry *list_find(struct clr_modules_list *list, u64 key)
{
	for (u32 i = 0; i < list->count; i++)
		if (list->at[i].key == key)
			return &list->at[i];
	return NULL;
}

/* Where a new one goes, whose place may be another's; NULL for lack of memory. */
static struct clr_modules_entry *list_add(struct clr_modules_list *list)
{
	if (!list->at)
		list->at = calloc(CLR_MODULES_MAX, sizeof(*list->at));
	if (!list->at)
		return NULL;
	if (list->count < CLR_MODULES_MAX)
		return &list->at[list->count++];
	return &list->at[list->next++ % CLR_MODULES_MAX];
}

void clr_modules_done(struct clr_modules *modules)
{
	for (u32 i = 0; i < modules->images.count; i++)
		clr_image_free(modules->images.at[i].value);
	for (u32 i = 0; i < modules->metadata.count; i++)
		free(modules->metadata.at[i].value);
	for (u32 i = 0; i < modules->files.count; i++)
		free(modules->files.at[i].value);
	free(modules->images.at);
	free(modules->metadata.at);
	free(modules->files.at);
}

/* One that takes long to look for has to wait: whoever makes up modules gets a share of our time. */
static bool may_look(struct clr_modules *modules, u64 now_ns)
{
	modules->dropped += now_ns < modules->rest_ns;
	return now_ns >= modules->rest_ns;
}

static void has_looked(struct clr_modules *modules, u64 start_ns)
{
	u64 now_ns = monotonic_ns();

	if (now_ns - start_ns > LOOK_NS)
		modules->rest_ns = now_ns + (now_ns - start_ns) * LOOK_REST;
}

/* What cannot be read now may be later, but not what is nowhere. */
static bool is_final(const struct memory *m)
{
	return !memory_err(m) || memory_err(m) == -EFAULT;
}

const struct clr_image *clr_modules_image(struct clr_modules *modules, struct memory *m, u64 base_va)
{
	struct clr_modules_entry *entry = list_find(&modules->images, base_va);
	struct clr_image *image = NULL;
	u64 start_ns = monotonic_ns();

	if (entry)
		return entry->value;
	if (!may_look(modules, start_ns))
		return NULL;
	(void)clr_image_open(m, base_va, &image);
	has_looked(modules, start_ns);
	entry = image || is_final(m) ? list_add(&modules->images) : NULL;
	if (!entry) {
		clr_image_free(image);
		return NULL;
	}
	modules->dropped += entry->value != NULL;
	clr_image_free(entry->value);
	*entry = (struct clr_modules_entry){ base_va, image };
	return image;
}

/* Keeps what can be free()d: it, or NULL if there is no room. */
static void *keep(struct clr_modules *modules, struct clr_modules_list *list, const struct memory *m, u64 key,
		  void *value)
{
	struct clr_modules_entry *entry = value || is_final(m) ? list_add(list) : NULL;

	if (!entry) {
		free(value);
		return NULL;
	}
	modules->dropped += entry->value != NULL;
	free(entry->value);
	*entry = (struct clr_modules_entry){ key, value };
	return value;
}

const struct metadata *clr_modules_metadata(struct clr_modules *modules, struct memory *m, const struct clr_layout *l,
					    u64 module_va)
{
	struct clr_modules_entry *entry = list_find(&modules->metadata, module_va);
	_cleanup_(freep) struct metadata *metadata = NULL;
	u64 start_ns = monotonic_ns();

	if (entry)
		return entry->value;
	metadata = may_look(modules, start_ns) ? calloc(1, sizeof(*metadata)) : NULL;
	if (!metadata)
		return NULL;
	/* Its simple name, which is a name in its metadata, stands before its path. */
	if (metadata_find(m, memory_u64(m, module_va + l->at[CLR_MODULE_PATH] - 8), metadata) < 0) {
		free(metadata);
		metadata = NULL;
	}
	has_looked(modules, start_ns);
	return keep(modules, &modules->metadata, m, module_va, TAKE(metadata));
}

const struct clr_file *clr_modules_file(struct clr_modules *modules, struct memory *m, const struct clr_layout *l,
					u64 module_va, u64 image_va)
{
	struct clr_modules_entry *entry = list_find(&modules->files, module_va);
	const struct metadata *md = NULL;
	struct clr_file *file = NULL;
	u64 start_ns;

	if (entry)
		return entry->value;
	/* To look for it in a large module takes a while. */
	if (!image_va)
		md = clr_modules_metadata(modules, m, l, module_va);
	start_ns = monotonic_ns();
	if ((!image_va && !md) || !may_look(modules, start_ns))
		return NULL;
	(void)clr_file_open(m, l, module_va, image_va, md ? md->root_va : 0, &file);
	has_looked(modules, start_ns);
	return keep(modules, &modules->files, m, module_va, file);
}

const struct metadata *clr_modules_largest(const struct clr_modules *modules)
{
	const struct metadata *best = NULL;

	for (u32 i = 0; i < modules->metadata.count; i++) {
		const struct metadata *md = modules->metadata.at[i].value;

		if (md && (!best || md->rows[TABLE_METHODS] > best->rows[TABLE_METHODS]))
			best = md;
	}
	for (u32 i = 0; i < modules->images.count; i++) {
		const struct clr_image *image = modules->images.at[i].value;

		if (image && (!best || image->metadata.rows[TABLE_METHODS] > best->rows[TABLE_METHODS]))
			best = &image->metadata;
	}
	return best;
}
