// SPDX-License-Identifier: Apache-2.0
#include "receivers/receipts.h"

#include "base/metrics.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"

static struct metric *request_metric(struct metrics *metrics, const struct metric_label *labels, const char *outcome)
{
	return metrics_get(metrics, METRIC_COUNTER, "otelcol_receiver_requests", "Requests, by what became of them.",
			   (struct metric_label[]){ labels[0], labels[1], { "outcome", outcome } }, 3);
}

void receipts_init(struct receipts *receipts, struct metrics *metrics, const struct component_setup *setup,
		   const char *transport)
{
	const struct metric_label labels[] = { { "receiver", setup->id }, { "transport", transport } };

	receipts->next = setup->next;
	receipts->accepted = metrics_get(metrics, METRIC_COUNTER, "otelcol_receiver_accepted_profile_samples",
					 "Samples that were passed on into the pipelines.", labels, 2);
	receipts->refused = metrics_get(metrics, METRIC_COUNTER, "otelcol_receiver_refused_profile_samples",
					"Samples that a pipeline did not take.", labels, 2);
	receipts->failed = metrics_get(metrics, METRIC_COUNTER, "otelcol_receiver_failed_profile_samples",
				       "Samples that could not be read.", labels, 2);
	receipts->successes = request_metric(metrics, labels, "success");
	receipts->refusals = request_metric(metrics, labels, "refused");
	receipts->failures = request_metric(metrics, labels, "failure");
}

int receipts_send(const struct receipts *receipts, struct batch *batch)
{
	u64 samples = batch_samples(batch);
	int r = consumers_send(receipts->next, batch);

	metric_add(r < 0 ? receipts->refused : receipts->accepted, samples);
	metric_add(r < 0 ? receipts->refusals : receipts->successes, 1);
	return r;
}

void receipts_nothing(const struct receipts *receipts)
{
	metric_add(receipts->successes, 1);
}

void receipts_failed(const struct receipts *receipts, u64 samples)
{
	metric_add(receipts->failed, samples);
	metric_add(receipts->failures, 1);
}
