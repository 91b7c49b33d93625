// SPDX-License-Identifier: Apache-2.0
#include "exporters/pyroscope_send.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "exporters/pyroscope_answer.h"
#include "pipeline/batch.h"
#include "pipeline/service.h"
#include "profile/profile.h"
#include "wire/otlp/rpc_status.h"

#define REFUSALS_MAX 64u		/* in a row: it refuses everything, and pieces would only be more of the same */
#define WHOLE_NS (60 * SECOND_NS)
#define TELL_EACH_NS (60 * SECOND_NS)
#define PIECES_BYTES_MAX ((size_t)1 << 30)	/* of a batch: each has copies of what it shares with others */

static struct metric *dropped_metric(const struct component_setup *setup, const char *reason)
{
	const struct metric_label labels[] = { { "exporter", setup->id }, { "reason", reason } };

	return metrics_get(service_metrics(setup->service), METRIC_COUNTER, "wick_pyroscope_dropped_samples",
			   "Samples that Pyroscope does not take, by the reason.", labels, 2);
}

void pyroscope_send_init(struct pyroscope_send *self, const struct component_setup *setup,
			 const struct pyroscope_shape_options *options)
{
	const struct metric_label label = { "exporter", setup->id };

	self->id = setup->id;
	self->options = options;
	self->is_indexed = true;
	for (u32 i = 0; i < options->sample_attributes.count; i++)
		self->is_indexed &= strcmp(options->sample_attributes.at[i], "service.name") != 0;
	self->old = dropped_metric(setup, "too_old");
	self->early = dropped_metric(setup, "too_new");
	self->refused = dropped_metric(setup, "refused");
	self->attributes = metrics_get(service_metrics(setup->service), METRIC_COUNTER,
				       "wick_pyroscope_dropped_attributes",
				       "Attributes of resources and scopes that cannot be labels.", &label, 1);
}

/* ---- Pieces ------------------------------------------------------------------------------- */

struct pieces {
	struct send_piece *at;
	u32 count, cap;
	size_t bytes;
};

static void pieces_done(struct pieces *pieces)
{
	for (u32 i = 0; i < pieces->count; i++)
		batch_unref(pieces->at[i].batch);
	free(pieces->at);
}

static int add_batch(struct pieces *pieces, struct batch *batch)
{
	int r = array_reserve(&pieces->at, &pieces->cap, pieces->count + 1, sizeof(*pieces->at));

	if (r < 0)
		batch_unref(batch);
	else
		pieces->at[pieces->count++] = (struct send_piece){ batch, 0 };
	return r;
}

static int add_piece(void *arg, struct profile *profile)
{
	struct batch *batch = batch_from_profile(profile);
	struct pieces *pieces = arg;

	if (!batch) {
		profile_free(profile);
		return -ENOMEM;
	}
	pieces->bytes += profile_bytes(profile);
	if (pieces->bytes <= PIECES_BYTES_MAX)
		return add_batch(pieces, batch);
	batch_unref(batch);
	return -E2BIG;
}

/* They stand for so many samples together: equal ones may have become one. */
static void send_pieces(struct send *send, struct pieces *pieces, u64 samples, u64 failed)
{
	u64 all = 0, before = 0, passed = 0;

	for (u32 i = 0; i < pieces->count; i++)
		all += batch_samples(pieces->at[i].batch);
	for (u32 i = 0; i < pieces->count; i++) {
		passed += batch_samples(pieces->at[i].batch);
		pieces->at[i].samples = (u64)((__uint128_t)samples * passed / all) - before;
		before += pieces->at[i].samples;
	}
	sender_split(send, pieces->at, pieces->count, 0, failed);
	pieces->count = 0;
}

static void fail(struct send *send, int error)
{
	struct send_result result = { .outcome = error == -ENOMEM ? SEND_RETRY : SEND_PERMANENT };

	(void)snprintf(result.reason, sizeof(result.reason), "it cannot be made ready for Pyroscope: %s",
		       error == -E2BIG ? "it is too large" : strerror(-error));
	sender_done(send, &result);
}

/* ---- Before an attempt --------------------------------------------------------------------- */

static void tell_losses(struct pyroscope_send *self, const struct pyroscope_shape_losses *losses)
{
	u64 now = monotonic_ns();

	metric_add(self->old, losses->old_samples);
	metric_add(self->early, losses->early_samples);
	metric_add(self->attributes, losses->attributes);
	if (!(losses->old_samples + losses->early_samples) || (self->told_ns && now - self->told_ns < TELL_EACH_NS))
		return;
	self->told_ns = now;
	log_warn(self->id, "dropped %llu samples older than max_age and %llu newer than max_ahead: Pyroscope would "
		 "refuse them; look at the clock, or at what held them up", losses->old_samples, losses->early_samples);
}

/* As many samples as fit, if they are all alike. */
static u64 samples_that_fit(u64 samples, size_t bytes)
{
	u64 fit;

	if (bytes <= PYROSCOPE_BYTES_MAX)
		return PYROSCOPE_SAMPLES_MAX;
	fit = (u64)((double)samples * PYROSCOPE_BYTES_MAX / 2 / (double)bytes);
	return fit < 1 ? 1 : fit > PYROSCOPE_SAMPLES_MAX ? PYROSCOPE_SAMPLES_MAX : fit;
}

/* Takes over the profile. */
static int cut(struct profile *profile, struct pieces *pieces)
{
	_cleanup_(batch_unrefp) struct batch *batch = batch_from_profile(profile);
	const void *at;
	size_t bytes;
	u64 fit;
	int r;

	if (!batch) {
		profile_free(profile);
		return -ENOMEM;
	}
	if (!batch_samples(batch))
		return 0;
	r = batch_bytes(batch, &at, &bytes);
	if (r < 0)
		return r;
	fit = samples_that_fit(batch_samples(batch), bytes);
	if (batch_samples(batch) <= fit && pyroscope_series_count(profile) <= PYROSCOPE_SERIES_MAX)
		return add_batch(pieces, TAKE(batch));
	return pyroscope_cut(profile, PYROSCOPE_SERIES_MAX, fit, add_piece, pieces);
}

static int shape(struct pyroscope_send *self, const struct profile *from, struct pieces *pieces, u64 *ret_failed)
{
	struct pyroscope_shape_losses losses;
	struct profile *shaped;
	int r = pyroscope_shape(from, self->options, clock_ns(CLOCK_REALTIME), &shaped, &losses);

	if (r < 0)
		return r;
	r = cut(shaped, pieces);
	if (r < 0)
		return r;
	tell_losses(self, &losses);
	*ret_failed = losses.old_samples + losses.early_samples;
	return 0;
}

static bool prepare(void *arg, struct send *send)
{
	struct pyroscope_send *self = arg;
	_cleanup_(pieces_done) struct pieces pieces = { 0 };
	u64 samples = send_samples(send), failed = 0;
	const struct profile *profile;
	int r = batch_profile(send_batch(send), &profile);

	if (r == 0 && send_is_piece(send) &&
	    !pyroscope_is_late(profile, self->options, clock_ns(CLOCK_REALTIME)))
		return false;
	if (r == 0)
		r = shape(self, profile, &pieces, &failed);
	if (r < 0) {
		fail(send, r);
		return true;
	}
	/* Of a piece, what is late counts as more or fewer samples than it has. */
	if (!pieces.count || failed > samples)
		failed = samples;
	send_pieces(send, &pieces, samples - failed, failed);
	return true;
}

/* ---- After it ------------------------------------------------------------------------------ */

static bool is_status(const struct client_answer *answer, enum rpc_code code, int http)
{
	const char *text = client_answer_header(answer, "grpc-status");

	return text ? strtol(text, NULL, 10) == (long)code : answer->status == http;
}

/* Its words: the body, or the message of gRPC. */
static struct str answer_text(const struct client_answer *answer)
{
	const char *message = client_answer_header(answer, "grpc-message");

	if (message)
		return (struct str){ message, (u32)strlen(message) };
	return (struct str){ answer->body.data, answer->too_large ? 0 : (u32)answer->body.len };
}

static bool says(struct str text, const char *what)
{
	return text.len && memmem(text.at, text.len, what, strlen(what));
}

/* What OTLP's rules do not know: see the header. True: it is refused for what is in it. */
static bool is_refused(const struct client_answer *answer, struct str text, struct send_result *result)
{
	bool is_internal = is_status(answer, RPC_UNKNOWN, 500) || is_status(answer, RPC_INTERNAL, 500);

	if (is_status(answer, RPC_INVALID_ARGUMENT, 400) || is_status(answer, RPC_INVALID_ARGUMENT, 422) ||
	    (is_internal && says(text, "failed to convert")))
		return true;
	if (is_internal || is_status(answer, RPC_RESOURCE_EXHAUSTED, 429))
		result->outcome = SEND_RETRY;
	return false;
}

static u64 share(u64 samples, u64 part, u64 all)
{
	return all ? (u64)((__uint128_t)samples * part / all) : 0;
}

/* The series of these bits as a batch of their own; NULL if there are none, or memory ran out. */
static struct batch *pick(const struct profile *profile, const u8 *bits, u32 count)
{
	struct profile *picked;
	struct batch *batch;

	if (!count || pyroscope_pick(profile, bits, &picked) < 0)
		return NULL;
	batch = batch_from_profile(picked);
	if (!batch)
		profile_free(picked);
	return batch;
}

/* Some were taken: the others are dropped, or tried again. True: that is all; else the result says how it goes on. */
static bool end_in_part(struct pyroscope_send *self, struct send *send, const struct profile *profile,
			const struct pyroscope_answer *answer, struct send_result *result)
{
	u64 samples = send_samples(send), all = batch_samples(send_batch(send)), failed, limited;
	_cleanup_(batch_unrefp) struct batch *bad = pick(profile, answer->refused, answer->refused_count);
	_cleanup_(batch_unrefp) struct batch *later = pick(profile, answer->limited, answer->limited_count);

	/* Without memory all of it is tried again: nothing is taken to be sent that was not. */
	if ((answer->refused_count && !bad) || (answer->limited_count && !later)) {
		result->outcome = SEND_RETRY;
		return false;
	}
	failed = bad ? share(samples, batch_samples(bad), all) : 0;
	limited = later ? share(samples, batch_samples(later), all) : 0;
	metric_add(self->refused, failed);
	/* None was taken: the sender tells, and is not well. */
	if (bad && batch_samples(bad) == all) {
		result->outcome = SEND_PERMANENT;
		return false;
	}
	if (failed) {
		log_error(self->id, "dropped %llu samples of %u series: %s", failed, answer->refused_count,
			  result->reason);
	}
	if (!later) {
		sender_split(send, NULL, 0, samples - failed, failed);
		return true;
	}
	result->outcome = SEND_RETRY;
	sender_shrink(send, (struct send_piece){ TAKE(later), limited }, samples - failed - limited, failed);
	return false;
}

/*
 * Before 2.2 Pyroscope pushes the series of an OTLP request one after another, stops at the first that fails, and calls
 * each 0. Where only that is named nothing is known, unless another number was ever seen.
 */
static bool are_numbers(struct pyroscope_send *self, const struct pyroscope_answer *answer, u32 series)
{
	if (answer->refused_count + answer->limited_count > 1 || !((answer->refused[0] | answer->limited[0]) & 1))
		self->numbers_all = true;
	return self->numbers_all || series == 1;
}

/* A server that refuses everything is not asked about each part of it. */
static bool may_cut(struct pyroscope_send *self)
{
	u64 now = monotonic_ns();

	if (now < self->whole_until_ns)
		return false;
	if (++self->refusals < REFUSALS_MAX)
		return true;
	self->refusals = 0;
	self->whole_until_ns = now + WHOLE_NS;
	return false;
}

/* Nothing of it was taken. True: its halves are sent instead. */
static bool end_in_halves(struct pyroscope_send *self, struct send *send, const struct profile *profile, u32 series)
{
	_cleanup_(pieces_done) struct pieces pieces = { 0 };

	if (series < 2 || !may_cut(self) ||
	    pyroscope_cut(profile, (series + 1) / 2, UINT64_MAX, add_piece, &pieces) < 0)
		return false;
	send_pieces(send, &pieces, send_samples(send), 0);
	return true;
}

static bool settle(void *arg, struct send *send, const struct client_answer *answer, struct send_result *result)
{
	struct pyroscope_send *self = arg;
	struct str text = answer_text(answer);
	struct pyroscope_answer named;
	const struct profile *profile;
	bool refused, is_fault;
	u32 series;

	if (result->outcome == SEND_OK)
		self->refusals = 0;
	if (result->outcome == SEND_OK || answer->error || batch_profile(send_batch(send), &profile) < 0)
		return false;
	refused = is_refused(answer, text, result);
	series = pyroscope_series_count(profile);
	is_fault = result->outcome == SEND_RETRY && !is_status(answer, RPC_RESOURCE_EXHAUSTED, 429);
	if (self->is_indexed && pyroscope_answer_parse(text.at, text.len, series, is_fault, &named)) {
		if (are_numbers(self, &named, series)) {
			self->refusals = 0;
			return end_in_part(self, send, profile, &named, result);
		}
		refused = named.refused_count;
		result->outcome = refused ? SEND_PERMANENT : SEND_RETRY;
	}
	if (refused && end_in_halves(self, send, profile, series))
		return true;
	if (result->outcome == SEND_PERMANENT)
		metric_add(self->refused, send_samples(send));
	return false;
}

const struct http_send_ops pyroscope_send_ops = {
	.make = otlp_send_make, .outcome = otlp_send_outcome, .prepare = prepare, .settle = settle,
};
