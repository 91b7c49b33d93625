/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam that every receiver, processor, exporter, connector and extension
 * has: one struct component_ops, listed in its folder's list.h. To add one:
 *
 *	src/exporters/x.c	const struct component_ops exporter_x = { ... };
 *	src/exporters/list.h	EXPORTER(x)
 *
 * Life:	create -> start -> consume ... -> stop -> free
 *
 *  - create() reads its options and claims what it needs (routes, queues, other components); nothing runs yet.
 *  - Exporters start first, then processors from the last to the first, then receivers;
 *    they stop the other way round. Extensions start before and stop after all of them.
 *  - consume() may be called by several threads at once. It takes over the reference to the batch, whatever it returns:
 *	0		accepted: delivered, or queued
 *	-EAGAIN		not now (a full queue, memory): the sender may try again later
 *	-EBADMSG, ...	never: permanent
 *    It must not wait for the network: exporters have queues (pipeline/sender.h).
 *  - stop() returns when nothing of it runs any more; what it holds is flushed
 *    until deadline_ns (CLOCK_MONOTONIC), then dropped and counted.
 *
 * A receiver or exporter that several pipelines name exists once; a processor once for each pipeline.
 */
#ifndef PIPELINE_COMPONENT_H
#define PIPELINE_COMPONENT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"
#include "config/fields.h"

struct batch;
struct buf;
struct component_status;	/* pipeline/status.h */
struct service;

enum component_kind {
	COMPONENT_RECEIVER,
	COMPONENT_PROCESSOR,
	COMPONENT_EXPORTER,
	COMPONENT_CONNECTOR,
	COMPONENT_EXTENSION,
	COMPONENT_KINDS,
};

/* What a component gets to live with. Borrowed until free(). */
struct component_setup {
	const char *id;				/* "otlp/backend" */
	enum component_kind kind;
	const struct consumers *next;		/* where to send; NULL for exporters and extensions */
	bool next_reads_profiles;		/* bytes may as well be decoded at once, instead of checked */
	struct service *service;		/* what all components share: pipeline/service.h */
	struct component_status *status;	/* where to report health */
	struct sender *sender;			/* of an exporter that sends, from start() on; else NULL */
};

/* What an extension offers to others; the self is the component's. */
struct authenticator_ops {
	/* Server: is this the value of an Authorization header (NULL: none) that may pass? Any thread. */
	bool (*accept)(void *self, const char *authorization);
	/* Client: appends the value of the Authorization header. */
	int (*header)(void *self, struct buf *out);
	/* The name of that header, in lower case, if it is another one. Optional. */
	const char *(*header_name)(void *self);
};

/* What a component does with each batch it is given. */
enum component_look { LOOKS_AT_BYTES, LOOKS_AT_PROFILE, LOOKS_AT_NOTHING };

struct component_ops {
	const char *type;			/* "otlp_grpc" */
	const char *const *aliases;		/* older names, ended by NULL; or NULL */
	const char *help;			/* one line for `wick components` */
	const struct config_field *fields;
	size_t options_bytes;
	const void *defaults;			/* options_bytes; NULL: zeros */

	/* What no table can say: what goes with what. Optional. */
	void (*check)(const void *options, struct config_place place, const char *path,
		      struct config_errors *errors);

	/* `why` gets a sentence on failure. options live until free(). */
	int (*create)(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why);
	int (*start)(void *self, struct buf *why);		/* optional */
	int (*consume)(void *self, struct batch *batch);	/* processors, connectors, exporters unless they send */
	void (*stop)(void *self, u64 deadline_ns);		/* optional */
	void (*free)(void *self);				/* accepts NULL */

	/*
	 * Exporters that send one batch after the other (pipeline/sender.h). Their queue is the pipeline's: it is made
	 * after create(), started after start(), stopped before stop() and gone before free(). Without a consume() of
	 * the exporter's own, all that comes is put into it.
	 */
	const struct sender_ops *sends;
	size_t sender_at;			/* where their struct sender_options is, in the options */
	void (*flush)(void *self);		/* optional: before the queue stops, it gets what is held back */

	/* Processors, exporters, connectors. NOTHING: it depends on what comes next. */
	enum component_look looks;

	/*
	 * Exporters: two of it cannot run at once (it owns a file, a route), so that on a reload the old one is
	 * drained before the new one starts. Others are drained beside the new one.
	 */
	bool alone;

	const struct authenticator_ops *authenticator;		/* extensions that are one */
	const struct storage_ops *storage;			/* extensions that keep queues: pipeline/storage.h */
};

/* ---- Sending on ------------------------------------------------------------- */

/* What comes next in a pipeline: made by the service, by tests out of whatever they want to see called. */
struct consumer {
	int (*consume)(void *self, struct batch *batch);
	void *self;
};

struct consumers {
	const struct consumer *at;
	u32 count;
};

/*
 * Gives the batch to every one of them; each but the last gets a reference of
 * its own. Takes over the reference. The first error, after all were tried;
 * -EAGAIN only if nothing permanent went wrong.
 */
int consumers_send(const struct consumers *consumers, struct batch *batch);

/* ---- Health ----------------------------------------------------------------- */

enum health { HEALTH_STARTING, HEALTH_OK, HEALTH_RECOVERABLE, HEALTH_PERMANENT, HEALTH_STOPPED };

/* Any thread. text: why, "" for OK; it is copied, kept as the last error, and logged when health changes.
 * A status that is NULL is nobody's: nothing happens. */
void component_report(struct component_status *status, enum health health, const char *text);

#endif
