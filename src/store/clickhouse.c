// SPDX-License-Identifier: Apache-2.0
#include "store/clickhouse.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/deadline.h"
#include "base/lock.h"
#include "base/thread.h"
#include "clickhouse/tuples.h"
#include "store/backend.h"
#include "store/clickhouse_answer.h"
#include "store/clickhouse_flame.h"
#include "store/clickhouse_sql.h"

#define SQL_BYTES_MAX (1u << 20)
#define ANSWER_BYTES_MAX ((size_t)256 << 20)
#define FLAME_NODES_MAX (2u << 20)
#define WHY_BYTES 512
#define IDLE_MAX 8			/* connections that are kept for the next question */
#define LOOK_EACH_NS SECOND_NS
#define LOOK_TIMEOUT_NS (3 * SECOND_NS)	/* the end waits for it */
#define WANTED_NS (5 * SECOND_NS)	/* how long somebody who asked is taken to want to know */

struct clickhouse_store {
	struct store base;
	struct clickhouse_options options;
	struct clickhouse_schema schema;
	struct clickhouse_writer *writer;	/* NULL: it only asks */

	pthread_mutex_t lock;
	struct clickhouse *idle[IDLE_MAX];
	u32 idle_count;
	char why[WHY_BYTES];		/* of the last answer that failed */

	/* Of what looks for changes. */
	struct thread watcher;
	struct clickhouse *watching;	/* its connection */
	pthread_cond_t changed;
	bool stop;
	u64 wanted_ns, looked_ns;	/* CLOCK_MONOTONIC */
	struct clickhouse_extent extent;
	struct clickhouse_others others;
	bool is_away;
	_Atomic u64 generation;
};

static struct clickhouse_store *clickhouse_store(struct store *base)
{
	return (struct clickhouse_store *)base;
}

/* ---- Asking ------------------------------------------------------------------------------- */

/* A connection that nobody else uses. Who asks must not wait for a server that is known to be away: -EHOSTDOWN. */
static int take_server(struct clickhouse_store *store, struct clickhouse **ret_server, struct buf *why)
{
	bool is_away;

	*ret_server = NULL;
	pthread_mutex_lock(&store->lock);
	is_away = store->is_away;
	if (store->idle_count && !is_away)
		*ret_server = store->idle[--store->idle_count];
	pthread_mutex_unlock(&store->lock);
	if (is_away)
		return -EHOSTDOWN;
	return *ret_server ? 0 : clickhouse_new(&store->options, ret_server, why);
}

static void give_back(struct clickhouse_store *store, struct clickhouse *server)
{
	pthread_mutex_lock(&store->lock);
	if (store->idle_count < IDLE_MAX)
		store->idle[store->idle_count++] = TAKE(server);
	pthread_mutex_unlock(&store->lock);
	clickhouse_free(server);
}

static void note_failure(struct clickhouse_store *store, int r, const char *why)
{
	static const char missing[] = "there are no profiles of wick in this database; the exporter clickhouse makes "
				      "their tables with the first it writes";
	char url[CLICKHOUSE_SHOWN_BYTES];

	clickhouse_url_shown(store->options.url, url);
	LOCKED(&store->lock);
	(void)snprintf(store->why, sizeof(store->why), "ClickHouse at %s: %s", url, r == -ENOENT ? missing : why);
}

/* Too much for an answer is the selection's fault; all else but memory is the server's, whose sentence is kept. */
static int judge(struct clickhouse_store *store, int r, const char *why)
{
	if (r == 0 || r == -E2BIG || r == -ENOMEM)
		return r;
	if (r != -EHOSTDOWN)
		note_failure(store, r, why);
	return -EIO;
}

/* A question and its answer. */
struct asking {
	struct buf sql;
	struct tuples tuples;
};

static void asking_init(struct asking *e)
{
	buf_init(&e->sql, SQL_BYTES_MAX);
	tuples_init(&e->tuples, ANSWER_BYTES_MAX);
}

static void asking_done(struct asking *e)
{
	buf_done(&e->sql);
	tuples_done(&e->tuples);
}

/* server: NULL for any. A table that is not there is -ENOENT, other failures are judged. */
static int ask_if_there(struct clickhouse_store *store, struct clickhouse *server, struct asking *e, const char *types)
{
	struct clickhouse *taken = NULL;
	_cleanup_(buf_done) struct buf why;
	int r = buf_err(&e->sql);

	buf_init(&why, WHY_BYTES);
	if (r == 0 && !server)
		r = take_server(store, &taken, &why);
	if (r == 0)
		r = clickhouse_query(server ? server : taken, e->sql.data, types, &e->tuples, &why);
	if (taken)
		give_back(store, taken);
	return r == -ENOENT ? r : judge(store, r, why.len ? why.data : strerror(-r));
}

static int ask(struct clickhouse_store *store, struct clickhouse *server, struct asking *e, const char *types)
{
	int r = ask_if_there(store, server, e, types);

	return r == -ENOENT ? judge(store, r, "") : r;
}

/* What came of reading an answer. */
static int was_read(struct clickhouse_store *store, int r)
{
	return judge(store, r, "its answer cannot be read");
}

/* ---- Answers ------------------------------------------------------------------------------- */

static int ask_nodes(struct clickhouse_store *store, const struct store_selection *selection,
		     enum store_label group_by, bool by_period, u32 nodes_max, struct clickhouse_flame *flame)
{
	_cleanup_(asking_done) struct asking e;
	u32 max = nodes_max ? nodes_max : FLAME_NODES_MAX;
	int r;

	asking_init(&e);
	/* One more tells that there are more. */
	clickhouse_sql_nodes(&store->schema, selection, group_by, by_period, nodes_max ? max : max + 1, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_NODES);
	return r < 0 ? r : was_read(store, clickhouse_flame_nodes(flame, &e.tuples, max));
}

/* Those that nodes have, or all if that are too many to name. */
static int ask_frames(struct clickhouse_store *store, const struct store_selection *selection,
		      struct clickhouse_flame *flame)
{
	_cleanup_(asking_done) struct asking e;
	_cleanup_(freep) u64 *wanted = NULL;
	u32 count;
	int r;

	asking_init(&e);
	clickhouse_flame_wanted(flame, CLICKHOUSE_FRAMES_MAX, &wanted, &count);
	clickhouse_sql_frames(&store->schema, selection, wanted, count, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_FRAMES);
	return r < 0 ? r : was_read(store, clickhouse_flame_frames(flame, &e.tuples));
}

static int ask_units(struct clickhouse_store *store, const struct store_selection *selection,
		     struct clickhouse_flame *flame, bool *ret_by_period)
{
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_units(&store->schema, selection, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_UNITS);
	return r < 0 ? r : was_read(store, clickhouse_flame_units(flame, &e.tuples, ret_by_period));
}

static int get_flame(struct store *base, const struct store_selection *selection, enum store_label group_by,
		     u32 nodes_max, struct calltree **ret_flame)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(clickhouse_flame_done) struct clickhouse_flame building;
	struct calltree *flame;
	bool by_period = false;
	int r = clickhouse_flame_init(&building);

	if (r == 0)
		r = ask_units(store, selection, &building, &by_period);
	if (r == 0)
		r = ask_nodes(store, selection, group_by, by_period, nodes_max, &building);
	if (r == 0)
		r = ask_frames(store, selection, &building);
	if (r == 0)
		r = clickhouse_flame_finish(&building, group_by, &flame);
	if (r < 0)
		return r;
	flame->from_ns = selection->from_ns;
	flame->to_ns = selection->to_ns;
	*ret_flame = flame;
	return 0;
}

static int get_chart(struct store *base, const struct store_selection *selection, enum store_label by,
		     u32 bucket_count, u32 lines_max, struct store_chart *ret_chart)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_chart(&store->schema, selection, by, bucket_count, lines_max, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_CHART);
	if (r < 0)
		return r;
	return was_read(store, clickhouse_answer_chart(&e.tuples, selection, bucket_count, lines_max, ret_chart));
}

static int get_heat(struct store *base, const struct store_selection *selection, struct store_heat *heat)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_heat(&store->schema, selection, heat->from_ns, heat->rows, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_HEAT);
	return r < 0 ? r : was_read(store, clickhouse_answer_heat(&e.tuples, heat));
}

static int get_values(struct store *base, const struct store_selection *selection, enum store_label label, u32 max,
		      struct store_values *ret_values)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_values(&store->schema, selection, label, max, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_VALUES);
	return r < 0 ? r : was_read(store, clickhouse_answer_values(&e.tuples, max, ret_values));
}

static int get_traces(struct store *base, const struct store_selection *selection, bool by_span, u32 max,
		      struct store_traces *ret_traces)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_traces(&store->schema, selection, by_span, max, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_TRACES);
	return r < 0 ? r : was_read(store, clickhouse_answer_traces(&e.tuples, max, ret_traces));
}

/* ---- Changes -------------------------------------------------------------------------------- */

static int get_extent(struct clickhouse_store *store, struct clickhouse *server, struct clickhouse_extent *ret_extent)
{
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_extent(&store->schema, &e.sql);
	r = ask(store, server, &e, CLICKHOUSE_EXTENT);
	return r < 0 ? r : was_read(store, clickhouse_answer_extent(&e.tuples, ret_extent));
}

/* Writers of before had no tables for that; and what cannot be had of it is no reason to say nothing of the samples. */
static void get_others(struct clickhouse_store *store, struct clickhouse *server, struct clickhouse_others *ret_others)
{
	_cleanup_(asking_done) struct asking e;

	asking_init(&e);
	clickhouse_sql_others(&store->schema, &e.sql);
	if (ask_if_there(store, server, &e, CLICKHOUSE_OTHERS) == 0)
		(void)was_read(store, clickhouse_answer_others(&e.tuples, ret_others));
}

/* That the server went away or came back is a change, too: pages are to say so. */
static void look(struct clickhouse_store *store)
{
	struct clickhouse_extent extent = { 0 };
	struct clickhouse_others others = { 0 };
	bool is_away = get_extent(store, store->watching, &extent) < 0;

	if (!is_away)
		get_others(store, store->watching, &others);
	LOCKED(&store->lock);
	if (is_away != store->is_away || (!is_away && (memcmp(&extent, &store->extent, sizeof(extent)) ||
						       memcmp(&others, &store->others, sizeof(others)))))
		atomic_fetch_add(&store->generation, 1);
	store->is_away = is_away;
	if (!is_away) {
		store->extent = extent;
		store->others = others;
	}
	store->looked_ns = monotonic_ns();
}

static bool is_wanted(const struct clickhouse_store *store)
{
	return store->wanted_ns && monotonic_ns() - store->wanted_ns < WANTED_NS;
}

/* Under the lock: until it is time to look again, and somebody wants to know; or until the end. */
static void wait_for_turn(struct clickhouse_store *store)
{
	while (!store->stop) {
		u64 next_ns = store->looked_ns + LOOK_EACH_NS;

		if (!is_wanted(store))
			next_ns = DEADLINE_NEVER;
		if (monotonic_ns() >= next_ns)
			return;
		(void)cond_wait_until(&store->changed, &store->lock, next_ns);
	}
}

static void *watch(void *arg)
{
	struct clickhouse_store *store = arg;

	pthread_mutex_lock(&store->lock);
	for (wait_for_turn(store); !store->stop; wait_for_turn(store)) {
		pthread_mutex_unlock(&store->lock);
		look(store);
		pthread_mutex_lock(&store->lock);
	}
	pthread_mutex_unlock(&store->lock);
	return NULL;
}

/* What nobody looked at for a while may have changed. */
static u64 get_generation(struct store *base)
{
	struct clickhouse_store *store = clickhouse_store(base);

	LOCKED(&store->lock);
	if (!is_wanted(store)) {
		atomic_fetch_add(&store->generation, 1);
		store->is_away &= monotonic_ns() - store->looked_ns < WANTED_NS;
		pthread_cond_signal(&store->changed);
	}
	store->wanted_ns = monotonic_ns();
	return atomic_load(&store->generation);
}

/* ---- What there is ---------------------------------------------------------------------------- */

static int get_parts(struct clickhouse_store *store, struct clickhouse_parts *ret_parts)
{
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_parts(&store->schema, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_PARTS);
	return r < 0 ? r : was_read(store, clickhouse_answer_parts(&e.tuples, ret_parts));
}

static int get_stats(struct store *base, struct store_stats *ret_stats)
{
	struct clickhouse_store *store = clickhouse_store(base);
	struct clickhouse_extent extent;
	struct clickhouse_parts parts = { 0 };
	int r = get_extent(store, NULL, &extent);

	if (r < 0)
		return r;
	/* Who may not look at the server's own tables does not see how large they are. */
	(void)get_parts(store, &parts);
	*ret_stats = (struct store_stats){ .bytes = parts.bytes, .nodes = parts.stacks,
					   .generation = get_generation(base) };
	ret_stats->levels[0] = (struct db_level){ .blocks = parts.parts ? parts.parts : extent.samples != 0,
						  .bytes = parts.bytes, .rows = extent.samples,
						  .first_ns = extent.first_ns, .last_ns = extent.last_ns };
	return 0;
}

/* ---- Machines --------------------------------------------------------------------------------- */

/* Where no table is nobody wrote any: 0. */
static int ask_machines(struct clickhouse_store *store, const struct clickhouse_machine_question *question,
			struct clickhouse_machines *machines)
{
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_machines(&store->schema, question, &e.sql);
	r = ask_if_there(store, NULL, &e, CLICKHOUSE_MACHINES_ROW);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return was_read(store, clickhouse_answer_machines(&e.tuples, question->period_ns, question->rows_max,
							  machines));
}

static int ask_tops(struct clickhouse_store *store, const struct clickhouse_machine_question *question,
		    struct clickhouse_machines *machines)
{
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_tops(&store->schema, question, &e.sql);
	r = ask(store, NULL, &e, CLICKHOUSE_TOPS);
	return r < 0 ? r : was_read(store, clickhouse_answer_tops(&e.tuples, machines));
}

static int get_series(struct store *base, const char *host, u64 from_ns, u64 to_ns, u32 rows_max,
		      struct series_rows *ret_rows)
{
	struct clickhouse_store *store = clickhouse_store(base);
	struct clickhouse_machine_question question = {
		.host = *host ? host : base->host, .from_ns = from_ns, .to_ns = to_ns,
		.period_ns = series_period(to_ns - from_ns, rows_max), .rows_max = SERIES_ROWS_MAX,
	};
	_cleanup_(clickhouse_machines_done) struct clickhouse_machines machines = { 0 };
	int r = ask_machines(store, &question, &machines);

	if (r == 0 && machines.rows.count)
		r = ask_tops(store, &question, &machines);
	if (r < 0)
		return r;
	*ret_rows = machines.rows;
	machines.rows = (struct series_rows){ 0 };
	return 0;
}

static int add_series(struct store *base, const struct series_other *other, const struct series_row *row)
{
	struct clickhouse_store *store = clickhouse_store(base);

	return store->writer ? clickhouse_writer_add(store->writer, other ? other->host : base->host, row) :
			       -EOPNOTSUPP;
}

/* ---- Notes ------------------------------------------------------------------------------------- */

/* Nobody counts them for a whole fleet: any number will do that JSON has in 15 digits. */
static s64 new_id(void)
{
	u64 number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		number = clock_ns(CLOCK_REALTIME);
	return (s64)(number & ((1ull << 49) - 1)) + 1;
}

static void make_note(const struct clickhouse_store *store, const struct store_note *note, s64 id, struct buf *sql)
{
	struct store_note made = *note;

	made.id = id;
	clickhouse_sql_add_note(&store->schema, &made, sql);
}

static int add_note(struct store *base, const struct store_note *note, u64 now_ns, s64 *ret_id)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	s64 id = new_id();
	int r;

	asking_init(&e);
	make_note(store, note, id, &e.sql);
	r = ask(store, NULL, &e, "");
	if (r < 0)
		return r;
	atomic_fetch_add(&store->generation, 1);
	*ret_id = id;
	return 0;
}

static void tell_note(struct store *base, const struct store_note *note)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(buf_done) struct buf sql;

	buf_init(&sql, SQL_BYTES_MAX);
	make_note(store, note, new_id(), &sql);
	buf_add(&sql, "", 1);
	if (store->writer && buf_err(&sql) == 0)
		(void)clickhouse_writer_run(store->writer, sql.data);	/* too many: the first ones say enough */
}

static int has_note(struct clickhouse_store *store, s64 id)
{
	_cleanup_(asking_done) struct asking e;
	bool has = false;
	int r;

	asking_init(&e);
	clickhouse_sql_has_note(&store->schema, id, &e.sql);
	r = ask_if_there(store, NULL, &e, CLICKHOUSE_HAS_NOTE);
	if (r == 0)
		r = was_read(store, clickhouse_answer_has_note(&e.tuples, &has));
	return r == -ENOENT ? 0 : r < 0 ? r : has;
}

static int drop_note(struct store *base, s64 id)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	r = has_note(store, id);
	if (r <= 0)
		return r;
	clickhouse_sql_drop_note(&store->schema, id, &e.sql);
	r = ask(store, NULL, &e, "");
	atomic_fetch_add(&store->generation, 1);
	return r < 0 ? r : 1;
}

static int each_note(struct store *base, u64 from_ns, u64 to_ns, store_note_fn *fn, void *arg)
{
	struct clickhouse_store *store = clickhouse_store(base);
	_cleanup_(asking_done) struct asking e;
	int r;

	asking_init(&e);
	clickhouse_sql_notes(&store->schema, from_ns, to_ns, NOTES_MAX, &e.sql);
	r = ask_if_there(store, NULL, &e, CLICKHOUSE_NOTE);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = clickhouse_answer_notes(&e.tuples, NOTES_MAX, fn, arg);
	return r == -EBADMSG ? was_read(store, r) : r;
}

static void explain(struct store *base, struct buf *why)
{
	struct clickhouse_store *store = clickhouse_store(base);

	LOCKED(&store->lock);
	buf_addf(why, "%s", store->why);
}

/* ---- Life ------------------------------------------------------------------------------------- */

static void end_watcher(struct clickhouse_store *store)
{
	if (!store->watcher.is_started)
		return;
	pthread_mutex_lock(&store->lock);
	store->stop = true;
	pthread_cond_signal(&store->changed);
	pthread_mutex_unlock(&store->lock);
	thread_join(&store->watcher);
}

static void store_free(struct store *base)
{
	struct clickhouse_store *store = clickhouse_store(base);

	end_watcher(store);
	clickhouse_writer_free(store->writer);
	clickhouse_free(store->watching);
	while (store->idle_count)
		clickhouse_free(store->idle[--store->idle_count]);
	pthread_cond_destroy(&store->changed);
	pthread_mutex_destroy(&store->lock);
	free(store->base.host);
	free(store);
}

static const struct store_ops clickhouse_ops = {
	.name = "clickhouse",
	.flame = get_flame,
	.chart = get_chart,
	.heat = get_heat,
	.values = get_values,
	.traces = get_traces,
	.series = get_series,
	.add_series = add_series,
	.add_note = add_note,
	.tell_note = tell_note,
	.drop_note = drop_note,
	.each_note = each_note,
	.stats = get_stats,
	.generation = get_generation,
	.explain = explain,
	.free = store_free,
};

static int start_watcher(struct clickhouse_store *store, struct buf *why)
{
	struct clickhouse_options options = store->options;
	int r;

	options.timeout_ns = LOOK_TIMEOUT_NS;
	r = clickhouse_new(&options, &store->watching, why);
	return r < 0 ? r : thread_start(&store->watcher, "wick: changes", watch, store);
}

int store_open_clickhouse(const struct store_clickhouse_options *options, struct store **ret_store, struct buf *why)
{
	struct clickhouse_store *store = calloc(1, sizeof(*store));
	int r;

	if (!store)
		return -ENOMEM;
	store->base.ops = &clickhouse_ops;
	store->options = options->server;
	store->schema.database = options->server.database;
	atomic_init(&store->generation, clock_ns(CLOCK_REALTIME) / 1000000);
	pthread_mutex_init(&store->lock, NULL);
	cond_init(&store->changed);
	store->base.host = strdup(options->host);
	r = store->base.host ? start_watcher(store, why) : -ENOMEM;
	if (r == 0 && options->writer)
		r = clickhouse_writer_new(options->writer, &store->writer, why);
	if (r < 0) {
		store_free(&store->base);
		return r;
	}
	*ret_store = &store->base;
	return 0;
}
