/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of an OTLP request to a batch in the pipelines, or to the
 * code and the sentence that the sender gets. Any thread.
 */
#ifndef RECEIVERS_OTLP_INTAKE_H
#define RECEIVERS_OTLP_INTAKE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "receivers/receipts.h"
#include "wire/otlp/rpc_status.h"

struct buf;
struct metric;

/* Of JSON text that is read at once: its tree takes some twenty times the room. A larger request is read alone. */
#define OTLP_INTAKE_JSON_MAX (16u << 20)

struct otlp_intake {
	struct receipts receipts;
	bool decodes;			/* at once: see component_setup.next_reads_profiles */
	struct metric *guessed;		/* requests whose numbering nothing in them told: wire/otlp/otlp_older.h */
	struct metric *json_busy;	/* requests that have to come again: OTLP_INTAKE_JSON_MAX */
	struct metric *greedy;		/* requests of senders who brought too much that is new: base/growth.h */
	atomic_size_t json_bytes;	/* that are being read */
};

void otlp_intake_init(struct otlp_intake *intake, struct metrics *metrics, const struct component_setup *setup,
		      const char *transport);

/* May this sender bring something now? If not, that is counted. */
bool otlp_intake_allows(struct otlp_intake *intake, u64 sender);

/* What was in a request. */
struct otlp_amounts {
	u64 samples;
	u32 resources;
};

/*
 * Takes over what is in message. amounts (may be NULL) is written if the message could be read. `why` gets a sentence
 * unless it is RPC_OK.
 */
enum rpc_code otlp_intake_take(struct otlp_intake *intake, struct buf *message, bool json, struct otlp_amounts *amounts,
			       struct buf *why);

#endif
