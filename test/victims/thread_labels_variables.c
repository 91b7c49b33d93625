// SPDX-License-Identifier: Apache-2.0
/* Variables of threads: linked into the program, or a library of its own, exported or not. */
#include "thread_labels.h"

#include <stdatomic.h>
#include <string.h>

/* Nobody here reads them: but for the attribute they would be left out. */
#ifdef HIDDEN
#define VARIABLE static __attribute__((used)) __thread
#else
#define VARIABLE __attribute__((visibility("default"))) __thread
#endif

VARIABLE char current_tenant[32];
VARIABLE const char *current_route;
VARIABLE uint32_t current_job;
VARIABLE int64_t current_offset;

#ifdef PADDING
__attribute__((visibility("default"))) __thread char labels_padding[PADDING];
#endif

static void set(const struct labels_values *values)
{
	size_t bytes = strnlen(values->tenant, sizeof(current_tenant));

	atomic_signal_fence(memory_order_seq_cst);
	memset(current_tenant, 0, sizeof(current_tenant));
	memcpy(current_tenant, values->tenant, bytes);
	current_route = values->route;
	current_job = values->job;
	current_offset = values->offset;
	atomic_signal_fence(memory_order_seq_cst);
}

__attribute__((visibility("default"))) const struct labels_writer labels_writer = { set };
