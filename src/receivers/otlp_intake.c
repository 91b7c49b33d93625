// SPDX-License-Identifier: Apache-2.0
#include "receivers/otlp_intake.h"

#include <errno.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/growth.h"
#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_check.h"
#include "wire/otlp/otlp_json.h"

void otlp_intake_init(struct otlp_intake *intake, struct metrics *metrics, const struct component_setup *setup,
		      const char *transport)
{
	receipts_init(&intake->receipts, metrics, setup, transport);
	intake->decodes = setup->next_reads_profiles;
	intake->guessed = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_guessed_requests",
				      "Requests read as of OTLP 1.9 only because they make no sense as of 1.10.",
				      &(struct metric_label){ "receiver", setup->id }, 1);
	intake->json_busy = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_json_busy_requests",
					"Requests in JSON that were told to come again: too much of it at once.",
					&(struct metric_label){ "receiver", setup->id }, 1);
	intake->greedy = metrics_get(metrics, METRIC_COUNTER, "wick_receiver_new_stacks_refused_requests",
				     "Requests of senders who had brought too many new names and stacks for the store.",
				     &(struct metric_label){ "receiver", setup->id }, 1);
	atomic_init(&intake->json_bytes, 0);
}

bool otlp_intake_allows(struct otlp_intake *intake, u64 sender)
{
	if (growth_allows(sender, monotonic_ns()))
		return true;
	metric_add(intake->greedy, 1);
	receipts_failed(&intake->receipts, 0);
	return false;
}

static int take_profile(struct profile *profile, struct batch **ret_batch)
{
	*ret_batch = batch_from_profile(profile);
	if (*ret_batch)
		return 0;
	profile_free(profile);
	return -ENOMEM;
}

/* The first one always may. */
static bool json_begin(struct otlp_intake *intake, size_t bytes)
{
	size_t before = atomic_fetch_add(&intake->json_bytes, bytes);

	if (!before || before + bytes <= OTLP_INTAKE_JSON_MAX)
		return true;
	atomic_fetch_sub(&intake->json_bytes, bytes);
	metric_add(intake->json_busy, 1);
	return false;
}

static int read_json(struct otlp_intake *intake, const struct buf *message, struct batch **ret_batch, struct buf *why)
{
	struct profile *profile;
	int r;

	if (!json_begin(intake, message->len)) {
		buf_addf(why, "too much JSON at once, try again later; protobuf needs far less memory");
		return -EAGAIN;
	}
	r = otlp_json_decode(message->data, message->len, &profile);
	atomic_fetch_sub(&intake->json_bytes, message->len);
	if (r == -EBADMSG)
		buf_addf(why, "not OTLP profiles in JSON, or an index in them is out of range");
	return r < 0 ? r : take_profile(profile, ret_batch);
}

static int decode(const struct otlp_intake *intake, const struct buf *message, struct batch **ret_batch)
{
	struct profile *profile;
	struct otlp_info info;
	int r = otlp_decode(message->data, message->len, &info, &profile);

	if (r < 0)
		return r;
	metric_add(intake->guessed, info.guessed);
	return take_profile(profile, ret_batch);
}

/* Bytes that may be sent on as they are stay bytes, unless what comes next would decode them anyway. */
static int read_protobuf(const struct otlp_intake *intake, struct buf *message, struct batch **ret_batch,
			 struct buf *why)
{
	bool too_large;
	u64 samples;
	int r = intake->decodes ? decode(intake, message, ret_batch) : -EBADMSG;

	if (r == 0 || r == -ENOMEM)
		return r;
	too_large = r == -E2BIG;
	r = otlp_check(message->data, message->len, budget_most(BUDGET_OTLP), &samples, why);
	if (r >= 0 && too_large)
		return -E2BIG;
	if (r == 0) {
		*ret_batch = batch_from_bytes(message, samples);
		return *ret_batch ? 0 : -ENOMEM;
	}
	return r < 0 ? r : decode(intake, message, ret_batch);
}

/* Why a request was not taken: by us if it could not be read, else by those who come next. */
static enum rpc_code code_of(int error, struct buf *why)
{
	switch (error) {
	case -EBADMSG:
		return RPC_INVALID_ARGUMENT;
	case -E2BIG:
		if (!why->len)
			buf_addf(why, "the request is too large, or would take too much memory");
		return RPC_RESOURCE_EXHAUSTED;
	default:
		if (!why->len)
			buf_addf(why, "out of memory, try again later");
		return RPC_UNAVAILABLE;
	}
}

static enum rpc_code pass_on(const struct otlp_intake *intake, struct batch *batch, struct buf *why)
{
	int r = receipts_send(&intake->receipts, batch);

	if (r == 0)
		return RPC_OK;
	if (r == -EAGAIN || r == -ENOMEM) {
		buf_addf(why, "cannot take more now, try again later");
		return RPC_UNAVAILABLE;
	}
	buf_addf(why, "the pipeline refused it: %s", strerror(-r));
	return RPC_INTERNAL;
}

enum rpc_code otlp_intake_take(struct otlp_intake *intake, struct buf *message, bool json, struct otlp_amounts *amounts,
			       struct buf *why)
{
	struct batch *batch = NULL;
	int r = json ? read_json(intake, message, &batch, why) : read_protobuf(intake, message, &batch, why);

	buf_done(message);
	if (r < 0) {
		receipts_failed(&intake->receipts, 0);
		return code_of(r, why);
	}
	if (amounts)
		*amounts = (struct otlp_amounts){ batch_samples(batch), batch_resources(batch) };
	if (batch_samples(batch))
		return pass_on(intake, batch, why);
	batch_unref(batch);
	receipts_nothing(&intake->receipts);
	return RPC_OK;
}
