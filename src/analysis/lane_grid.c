// SPDX-License-Identifier: Apache-2.0
#include "analysis/lane_grid.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int lane_grid_init(struct lane_grid *g, u64 from_ns, u64 to_ns, u32 count)
{
	*g = (struct lane_grid){ .from_ns = from_ns, .width_ns = (double)(to_ns - from_ns) / count, .count = count };
	g->cells = array_calloc((size_t)count * REASON_COUNT, sizeof(*g->cells));
	return g->cells ? 0 : -ENOMEM;
}

void lane_grid_done(struct lane_grid *g)
{
	free(g->cells);
	*g = (struct lane_grid){ 0 };
}

/* Times are those after the beginning of the first bucket. */
static void spread(struct lane_grid *g, u32 reason, double start_ns, double end_ns)
{
	start_ns = fmax(start_ns, 0);
	end_ns = fmin(end_ns, g->count * g->width_ns);
	if (start_ns >= end_ns)
		return;
	for (u32 i = (u32)(start_ns / g->width_ns); i < g->count && i * g->width_ns < end_ns; i++) {
		double in_ns = fmin(end_ns, (i + 1) * g->width_ns) - fmax(start_ns, i * g->width_ns);

		g->cells[(size_t)i * REASON_COUNT + reason] += fmax(in_ns, 0);
	}
}

void lane_grid_fill(struct lane_grid *g, const struct lane_moment *moments, u32 count)
{
	double taken_ns = INFINITY, all_ns = g->count * g->width_ns;	/* from there on, nothing is there twice */

	memset(g->cells, 0, (size_t)g->count * REASON_COUNT * sizeof(*g->cells));
	g->last_ns = 0;
	for (u32 i = 0; i < count && taken_ns > 0; i++) {
		const struct lane_moment *m = &moments[i];
		double at_ns = (double)(s64)(m->at_ns - g->from_ns), length_ns = (double)m->length_ns;
		double end_ns = fmin(g->is_exact ? at_ns + length_ns : at_ns, taken_ns);

		taken_ns = g->is_exact ? fmin(at_ns, taken_ns) : end_ns - length_ns;
		spread(g, m->reason, taken_ns, end_ns);
		if (at_ns > all_ns && taken_ns < all_ns && !g->last_ns)
			g->last_ns = m->at_ns;
	}
}
