/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of an OTLP request to a batch in the pipelines, or to the
 * code and the sentence that the sender gets. Any thread.
 */
#ifndef RECEIVERS_OTLP_INTAKE_H
#define RECEIVERS_OTLP_INTAKE_H

#include <stdbool.h>

#include "receivers/receipts.h"
#include "wire/rpc_status.h"

struct buf;
struct metric;

struct otlp_intake {
	struct receipts receipts;
	bool decodes;			/* at once: see component_setup.next_reads_profiles */
	struct metric *guessed;		/* requests whose numbering nothing in them told: wire/otlp_numbering.h */
};

void otlp_intake_init(struct otlp_intake *intake, struct metrics *metrics, const struct component_setup *setup,
		      const char *transport);

/* Takes over what is in message. `why` gets a sentence unless it is RPC_OK. */
enum rpc_code otlp_intake_take(const struct otlp_intake *intake, struct buf *message, bool json, struct buf *why);

#endif
