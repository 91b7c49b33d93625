// SPDX-License-Identifier: Apache-2.0
/* How pipelines hang together by connectors. */
#include "pipeline/plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"

enum mark { NEW, OPEN, DONE };

struct walk {
	struct plan *plan;
	struct config_errors *errors;
	enum mark *marks;		/* of pipelines */
	u32 *trail, depth;		/* pipelines that are open, from the first */
	u32 placed;			/* of plan->order */
};

/* The first pipeline that has the component on that side, or NULL. */
static const struct plan_pipeline *user(const struct plan *plan, const struct plan_component *connector,
					bool as_exporter)
{
	for (u32 i = 0; i < plan->pipeline_count; i++) {
		const struct plan_pipeline *pipeline = &plan->pipelines[i];

		if (plan_list_has(as_exporter ? pipeline->exporters : pipeline->receivers, connector))
			return pipeline;
	}
	return NULL;
}

static void check_both_sides(const struct plan *plan, struct config_errors *errors)
{
	for (u32 i = 0; i < plan->component_count; i++) {
		const struct plan_component *c = &plan->components[i];
		const struct plan_pipeline *in, *out, *only;

		if (c->kind != COMPONENT_CONNECTOR || !c->used)
			continue;
		in = user(plan, c, true);
		out = user(plan, c, false);
		if (in && out)
			continue;
		only = in ? in : out;
		assert(only);	/* it is used */
		config_error(errors, only->place, "service::pipelines",
			     "connector \"%s\" used as %s in [%s] pipeline but not used in any supported %s pipeline",
			     c->id, in ? "exporter" : "receiver", only->id, in ? "receiver" : "exporter");
	}
}

static void refuse_circle(struct walk *w, u32 again)
{
	struct buf text;
	u32 i = 0;

	buf_init(&text, 1 << 16);
	while (w->trail[i] != again)
		i++;
	for (; i < w->depth; i++)
		buf_addf(&text, "%s -> ", w->plan->pipelines[w->trail[i]].id);
	config_error(w->errors, w->plan->pipelines[again].place, "service::pipelines", "cycle detected: %s%s",
		     buf_err(&text) ? "" : text.data, w->plan->pipelines[again].id);
	buf_done(&text);
}

/* Recursion is as deep as there are pipelines: PLAN_PIPELINES_MAX. */
static void visit(struct walk *w, u32 index)
{
	const struct plan_pipeline *from = &w->plan->pipelines[index];

	w->marks[index] = OPEN;
	w->trail[w->depth++] = index;
	for (u32 e = 0; e < from->exporters.count; e++) {
		const struct plan_component *connector = from->exporters.at[e];

		for (u32 to = 0; connector->kind == COMPONENT_CONNECTOR && to < w->plan->pipeline_count; to++) {
			if (!plan_list_has(w->plan->pipelines[to].receivers, connector))
				continue;
			if (w->marks[to] == OPEN)
				refuse_circle(w, to);
			else if (w->marks[to] == NEW)
				visit(w, to);
		}
	}
	w->depth--;
	w->marks[index] = DONE;
	w->plan->order[w->placed++] = index;
}

int plan_connect(struct plan *plan, struct config_errors *errors)
{
	struct walk w = { .plan = plan, .errors = errors };
	u32 count = plan->pipeline_count ? plan->pipeline_count : 1;

	w.marks = arena_zalloc(&plan->arena, count * sizeof(*w.marks));
	w.trail = arena_zalloc(&plan->arena, count * sizeof(*w.trail));
	plan->order = arena_zalloc(&plan->arena, count * sizeof(*plan->order));
	if (!w.marks || !w.trail || !plan->order)
		return arena_err(&plan->arena);
	check_both_sides(plan, errors);
	for (u32 i = 0; i < plan->pipeline_count; i++) {
		if (w.marks[i] == NEW)
			visit(&w, i);
	}
	return 0;
}
