// SPDX-License-Identifier: Apache-2.0
#include "tracer/installer.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "proc/binaries.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "proc/process_status.h"
#include "proc/processes.h"
#include "tracer/generated.h"
#include "tracer/modules.h"
#include "tracer/requests.h"
#include "tracer/runtimes.h"
#include "tracer/tables.h"

/* The entry of a mapping that is not, or not in a known way, a file: its addresses stand for themselves. */
static struct map_entry plain_entry(const struct mapping *m)
{
	return (struct map_entry){ .start_va = m->start_va, .end_va = m->end_va, .page_base = MAP_NO_ROWS };
}

static struct map_entry installer_entry(const struct installer *in, struct generated *generated,
					const struct mapping *m)
{
	struct map_entry entry = plain_entry(m);
	const struct row_pages_range *rows;

	if (mapping_is_generated(m)) {
		entry.lang = runtimes_owner(generated->process, m->start_va, m->end_va) & 0xff;
		if (!entry.lang)
			generated_entry(generated, m, &entry);
		return entry;
	}
	if (!m->binary || !binary_place(m->binary, m, &entry.bias, &entry.start_va, &entry.end_va))
		return plain_entry(m);
	entry.binary = m->binary->id & FRAME_BINARY_MASK;
	rows = modules_rows(in->modules, m->binary);
	if (rows)
		entry.page_base = tables_page_base(rows);
	return entry;
}

/* Who has begun it: whatever it has become since, the share is his. Of one that has ended: nobody's. */
static u64 owner_of(const struct process *process)
{
	struct process_status status;

	return process_status_read(process->pid, &status) < 0 ? UINT64_MAX : status.real_uid;
}

static int installer_put(struct installer *in, const struct process *process, bool has_runtimes, u64 now_ns)
{
	struct maps *maps = process->maps;
	_cleanup_(freep) struct map_entry *entries = reallocarray(NULL, maps->count + 1, sizeof(*entries));
	struct generated generated;
	u32 first, count = 0;
	int r = entries ? generated_begin(&generated, in->tables, process, maps) : -ENOMEM;

	if (r < 0)
		return r;
	for (u32 i = 0; i < maps->count; i++)
		if (has_runtimes || !mapping_is_generated(&maps->at[i]))
			entries[count++] = installer_entry(in, &generated, &maps->at[i]);
	r = tables_add_maps(in->tables, owner_of(process), entries, count, &first);
	in->rows_left_out += generated_end(&generated, r, now_ns);
	if (r < 0)
		return r;
	tables_drop_maps(in->tables, maps->installed_first, maps->installed_count, now_ns);
	maps->installed_first = first;
	maps->installed_count = count;
	return 0;
}

void installer_remove(struct installer *in, struct maps *maps, u64 now_ns)
{
	tables_drop_maps(in->tables, maps->installed_first, maps->installed_count, now_ns);
	runtimes_drop_slots(in->runtimes, maps, now_ns);
	generated_drop(in->tables, maps, now_ns);
	maps->installed_count = 0;
}

void installer_rest(struct installer *in, struct process *p, u64 now_ns)
{
	const struct maps *maps = p->maps;
	u64 last_ns = p->sampled_ns > p->installed_ns ? p->sampled_ns : p->installed_ns;

	if (!p->is_published || !maps || !maps->installed_count || maps->refs > 1 || maps->slot || maps->rows_count ||
	    now_ns < last_ns + INSTALLER_IDLE_NS)
		return;
	tables_unpublish(in->tables, p->kernel_pid, &p->id);
	installer_remove(in, p->maps, now_ns);
	p->is_published = false;
	in->rested++;
}

int installer_tell(struct installer *in, const struct process *process)
{
	const struct maps *maps = process->maps;
	/* Without them the kernel half would take it for a process that has no code. */
	struct proc_entry entry = { .id = process->id, .map_first = maps->installed_first,
				    .map_count = maps->installed_count, .slot = maps->slot };

	if (!maps->installed_count)
		return 0;
	if (!entry.slot && runtimes_are_loading(process))
		entry.slot = SLOT_LOADING;
	entry.start_lang = (u16)runtimes_start(process);
	entry.thread_slot = (u16)requests_slot(process);
	return tables_publish(in->tables, process->kernel_pid, &entry);
}

static int installer_publish(struct installer *in, struct process *process, bool has_runtimes, u64 now_ns)
{
	struct maps *maps = process->maps;
	int r = 0;

	if (maps->count && (process->maps_changed || !maps->installed_count)) {
		/* Before: what is told of meanwhile, and what was too much for one time, is for the next. */
		runtimes_take_rows(process);
		r = installer_put(in, process, has_runtimes, now_ns);
		requests_mapped(in->requests, process, now_ns);
	}
	process->maps_changed = false;
	process->installed_ns = now_ns;
	if (r < 0)
		return r;
	process->is_published = true;
	/* Its pid may be another's by now: its tables are for what it has sent itself. */
	return process->is_removed ? 0 : installer_tell(in, process);
}

/*
 * Taking up a runtime can take long, most of all the first of its language: native frames do not wait for it. Code that
 * it may turn out to own does, and what its program is to walk, while that is loaded: stacks through it travel as
 * slices until then, rather than be guessed at.
 */
int installer_install(struct installer *in, struct process *process, u64 now_ns)
{
	bool is_alone = process->maps->refs == 1;
	bool has_runtimes = !is_alone || !runtimes_are_due(in->runtimes, process, now_ns);
	bool was_loading = runtimes_are_loading(process), is_loading;
	int r = installer_publish(in, process, has_runtimes, now_ns);

	if (r < 0)
		return r;
	if (!runtimes_attach(in->runtimes, process, now_ns) && !runtimes_has_rows(process) &&
	    (has_runtimes || runtimes_are_starting(process)) && runtimes_are_loading(process) == was_loading)
		return 0;
	is_loading = runtimes_are_loading(process);
	/* What the runtime owns is marked, too, unless others look at the same tables. */
	process->maps_changed = is_alone && !is_loading;
	return installer_publish(in, process, !is_loading, now_ns);
}
