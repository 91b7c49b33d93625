// SPDX-License-Identifier: Apache-2.0
#include "receivers/machine.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "proc/host.h"
#include "store/notes.h"
#include "store/series.h"
#include "store/shared.h"

struct machine {
	struct host_state *host;
	struct host_sample before;	/* monotonic_ns 0: none yet */
};

static _Atomic u32 machines;

struct machine *machine_new(const char *proc)
{
	_cleanup_(machine_freep) struct machine *machine = calloc(1, sizeof(*machine));

	if (!machine)
		return NULL;
	machine->host = host_new(proc);
	if (!machine->host)
		return NULL;
	atomic_fetch_add(&machines, 1);
	return TAKE(machine);
}

void machine_free(struct machine *machine)
{
	if (!machine)
		return;
	if (machine->host)
		atomic_fetch_sub(&machines, 1);
	host_free(machine->host);
	free(machine);
}

bool machine_is_sampled(void)
{
	return atomic_load(&machines);
}

/* Which processes they were the kernel's log says, which is not for everybody. */
static void tell_oom(u64 kills)
{
	char title[64];

	snprintf(title, sizeof(title), "out of memory: %llu %s killed", kills, kills == 1 ? "process" : "processes");
	notes_tell("oom", title, "The kernel's log (dmesg) says which, and what had how much.");
}

int machine_note(struct machine *machine)
{
	_cleanup_(store_releasep) struct store *store = store_borrow("");
	struct host_sample now;
	struct series_row row;
	bool has_before = machine->before.monotonic_ns;
	int r;

	if (!store)
		return 0;
	r = host_sample(machine->host, &now);
	if (r < 0)
		return r;
	if (has_before && now.oom_kills > machine->before.oom_kills)
		tell_oom(now.oom_kills - machine->before.oom_kills);
	if (has_before)
		series_row_measure(&machine->before, &now, clock_ns(CLOCK_REALTIME), &row);
	machine->before = now;
	if (!has_before)
		return 0;
	r = series_add_all(&row);
	return r < 0 ? r : 1;
}
