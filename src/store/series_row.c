// SPDX-License-Identifier: Apache-2.0
#include "store/series_row.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "proc/host.h"
#include "wire/pb.h"

_Static_assert(SERIES_TOP == HOST_TOP && SERIES_NAME_BYTES == HOST_NAME_MAX, "a row takes all that a sample has");

enum join { MEAN, MAX };

static const struct number {
	const char *name;
	enum join join;
	double scale;
} numbers[SERIES_NUMBER_COUNT] = {
#define X(id, name, join, scale) { name, join, scale },
	SERIES_NUMBERS(X)
#undef X
};

const char *series_number_name(enum series_number number)
{
	return numbers[number].name;
}

double series_number_scale(enum series_number number)
{
	return numbers[number].scale;
}

/* ---- Measuring ------------------------------------------------------------------------ */

/* Thousandths of a CPU that were in this state; counters may go back when a CPU goes away. */
static u64 used(const struct host_sample *before, const struct host_sample *now, enum host_cpu_state state)
{
	u64 span_ns = now->monotonic_ns - before->monotonic_ns;

	if (now->monotonic_ns <= before->monotonic_ns || now->cpu_ns[state] < before->cpu_ns[state])
		return 0;
	return (now->cpu_ns[state] - before->cpu_ns[state]) * 1000 / span_ns;
}

static void copy_top(const struct host_process *from, u32 count, enum series_top_kind kind, struct series_row *row)
{
	struct series_top *top = &row->top[kind];

	for (u32 i = 0; i < count && i < SERIES_TOP; i++) {
		struct series_process *to = &top->at[top->count];

		to->pid = (u32)from[i].pid;
		to->amount = kind == SERIES_BY_CPU ? (u64)(from[i].cpus * 1000 + 0.5) : from[i].rss_bytes;
		memcpy(to->name, from[i].name, sizeof(to->name));
		top->count += to->amount > 0;
	}
}

void series_row_measure(const struct host_sample *before, const struct host_sample *now, u64 now_ns,
			struct series_row *ret_row)
{
	struct series_row row = { .start_ns = now_ns - (now->monotonic_ns - before->monotonic_ns), .end_ns = now_ns };
	u64 *n = row.numbers;

	for (int state = 0; state < HOST_CPU_STATE_COUNT; state++)
		if (state != HOST_CPU_IDLE && state != HOST_CPU_IOWAIT && state != HOST_CPU_STEAL)
			n[SERIES_BUSY] += used(before, now, state);
	n[SERIES_CPUS] = now->cpu_count;
	n[SERIES_BUSY_PEAK] = n[SERIES_BUSY];
	n[SERIES_IOWAIT] = used(before, now, HOST_CPU_IOWAIT);
	n[SERIES_STEAL] = used(before, now, HOST_CPU_STEAL);
	n[SERIES_MEMORY_TOTAL] = now->memory_total_bytes;
	if (now->memory_available_bytes < now->memory_total_bytes)
		n[SERIES_MEMORY_USED] = now->memory_total_bytes - now->memory_available_bytes;
	n[SERIES_MEMORY_PEAK] = n[SERIES_MEMORY_USED];
	n[SERIES_LOAD] = now->load[0] > 0 && now->load[0] < 1e9 ? (u64)(now->load[0] * 1000 + 0.5) : 0;
	n[SERIES_PROCESSES] = now->process_count;
	copy_top(now->by_cpu, now->by_cpu_count, SERIES_BY_CPU, &row);
	copy_top(now->by_rss, now->by_rss_count, SERIES_BY_MEMORY, &row);
	*ret_row = row;
}

/* ---- Joining ---------------------------------------------------------------------------- */

/* A file may say anything. */
static u64 rounded(double value)
{
	return value < 0x1p63 ? (u64)(value + 0.5) : INT64_MAX;
}

struct share {
	struct series_process process;
	double weight;			/* the part of the time that its row is of */
};

static int compare_identity(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	if (x->process.pid != y->process.pid)
		return x->process.pid < y->process.pid ? -1 : 1;
	return strcmp(x->process.name, y->process.name);
}

static int compare_amount(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return x->process.amount > y->process.amount ? -1 : x->process.amount < y->process.amount;
}

/*
 * Of the shares of one process one is left. CPUs are a mean over all of the time; of memory the most counts, since a
 * row that does not list the process does not say that it had none.
 */
static u32 join_shares(struct share *shares, u32 count, enum series_top_kind kind)
{
	u32 kept = 0;

	qsort(shares, count, sizeof(*shares), compare_identity);
	for (u32 first = 0, end; first < count; first = end) {
		double sum = 0;
		u64 most = 0;

		for (end = first; end < count && !compare_identity(&shares[first], &shares[end]); end++) {
			sum += (double)shares[end].process.amount * shares[end].weight;
			most = shares[end].process.amount > most ? shares[end].process.amount : most;
		}
		shares[kept] = shares[first];
		shares[kept].process.amount = kind == SERIES_BY_CPU ? rounded(sum) : most;
		kept += shares[kept].process.amount > 0;
	}
	return kept;
}

static double weight_of(const struct series_row *row, double total_ns)
{
	return total_ns > 0 ? (double)(row->end_ns - row->start_ns) / total_ns : 0;
}

static int join_tops(const struct series_row *rows, u32 count, double total_ns, enum series_top_kind kind,
		     struct series_top *top)
{
	_cleanup_(freep) struct share *shares = reallocarray(NULL, (size_t)count * SERIES_TOP, sizeof(*shares));
	u32 share_count = 0;

	if (!shares)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++)
		for (u32 p = 0; p < rows[i].top[kind].count; p++)
			shares[share_count++] = (struct share){ rows[i].top[kind].at[p],
								weight_of(&rows[i], total_ns) };
	share_count = join_shares(shares, share_count, kind);
	qsort(shares, share_count, sizeof(*shares), compare_amount);
	for (u32 i = 0; i < share_count && i < SERIES_TOP; i++)
		top->at[top->count++] = shares[i].process;
	return 0;
}

int series_row_join(const struct series_row *rows, u32 count, struct series_row *ret_row)
{
	struct series_row row = { .start_ns = rows[0].start_ns, .end_ns = rows[count - 1].end_ns };
	double sums[SERIES_NUMBER_COUNT] = { 0 }, total_ns = 0;
	int r = 0;

	for (u32 i = 0; i < count; i++)
		total_ns += (double)(rows[i].end_ns - rows[i].start_ns);
	for (u32 i = 0; i < count; i++) {
		for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++) {
			sums[n] += (double)rows[i].numbers[n] * weight_of(&rows[i], total_ns);
			if (rows[i].numbers[n] > row.numbers[n])
				row.numbers[n] = rows[i].numbers[n];
		}
	}
	for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++)
		if (numbers[n].join == MEAN)
			row.numbers[n] = rounded(sums[n]);
	for (int kind = 0; kind < SERIES_TOPS && r == 0; kind++)
		r = join_tops(rows, count, total_ns, kind, &row.top[kind]);
	if (r == 0)
		*ret_row = row;
	return r;
}

/* ---- On disk ------------------------------------------------------------------------------ */

void series_row_pack(const struct series_row *row, struct buf *out)
{
	pb_put_raw_varint(out, SERIES_NUMBER_COUNT);
	for (u32 n = 0; n < SERIES_NUMBER_COUNT; n++)
		pb_put_raw_varint(out, row->numbers[n]);
	for (u32 kind = 0; kind < SERIES_TOPS; kind++) {
		const struct series_top *top = &row->top[kind];

		pb_put_raw_varint(out, top->count);
		for (u32 i = 0; i < top->count; i++) {
			size_t len = strnlen(top->at[i].name, SERIES_NAME_BYTES - 1);

			pb_put_raw_varint(out, top->at[i].pid);
			pb_put_raw_varint(out, top->at[i].amount);
			pb_put_raw_varint(out, len);
			buf_add(out, top->at[i].name, len);
		}
	}
}

/* At most max, or the reader has an error. */
static u32 small(struct pb *r, u32 max)
{
	u64 value = pb_varint(r);

	if (value > max && !r->err)
		r->err = -EBADMSG;
	return r->err ? 0 : (u32)value;
}

static void unpack_process(struct pb *r, struct series_process *process)
{
	u32 len;

	process->pid = small(r, UINT32_MAX);
	process->amount = pb_varint(r);
	len = small(r, SERIES_NAME_BYTES - 1);
	if (!r->err && (len > pb_left(r) || memchr(r->at, '\0', len)))
		r->err = -EBADMSG;
	if (r->err)
		return;
	memcpy(process->name, r->at, len);
	r->at += len;
}

int series_row_unpack(const void *at, size_t bytes, struct series_row *ret_row)
{
	struct series_row row = { .start_ns = ret_row->start_ns, .end_ns = ret_row->end_ns };
	struct pb r = pb_from(at, bytes);
	u32 count = small(&r, 64);

	/* A newer wick may have written more of them, an older one less. */
	for (u32 n = 0; n < count && !r.err; n++) {
		u64 value = pb_varint(&r);

		if (n < SERIES_NUMBER_COUNT)
			row.numbers[n] = value;
	}
	for (u32 kind = 0; kind < SERIES_TOPS; kind++) {
		struct series_top *top = &row.top[kind];

		top->count = small(&r, SERIES_TOP);
		for (u32 i = 0; i < top->count && !r.err; i++)
			unpack_process(&r, &top->at[i]);
	}
	if (r.err || pb_left(&r))
		return r.err ? r.err : -EBADMSG;
	*ret_row = row;
	return 0;
}
