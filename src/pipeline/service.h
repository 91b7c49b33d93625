/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all components of a running configuration share, and the running
 * configuration itself: components made from a checked config, wired into
 * pipelines, started and stopped in order.
 */
#ifndef PIPELINE_SERVICE_H
#define PIPELINE_SERVICE_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/metrics.h"
#include "config/config.h"
#include "pipeline/component.h"
#include "pipeline/registry.h"
#include "pipeline/status.h"

struct arrivals;
struct boost_desk;
struct buf;
struct control;
struct server;
struct service;
struct taps;

/* What outlives a reload. */
struct service_host {
	const struct component_registry *registry;
	struct server *server;		/* the io thread, its listeners, the work threads */
	struct metrics *metrics;
	struct arrivals *arrivals;	/* what came lately: pipeline/arrivals.h; or NULL */
	struct taps *taps;		/* who wants profiles as they come: pipeline/taps.h; or NULL */
	struct boost_desk *boosts;	/* where boosts are asked for: pipeline/boost_desk.h; or NULL */
	struct control *control;	/* who has samplers: halves/control.h; or NULL */
	uid_t starter;			/* who started wick, also if this process has become another user */
	const struct component_ops *telemetry;	/* serves metrics (pipeline/telemetry.h); or NULL */
	int *log_fd;			/* see telemetry_setup_logs(); NULL: the logger is left as it is */
};

/* Checks everything that can be checked without starting: ids, references, options, cycles. -EINVAL with errors. */
int service_check(const struct component_registry *registry, const struct config *config, struct config_errors *errors);

/* Without components. NULL without memory. For tests of single components, which need one to ask. */
struct service *service_new(const struct service_host *host);

/* Makes and starts all of it; else `why` says which component and why. The config must outlive it. */
int service_start(const struct service_host *host, const struct config *config, struct service **ret_service,
		  struct buf *why);

/*
 * The first half of stopping, for a reload: receivers, processors and whatever cannot run beside another
 * of its kind are stopped; exporters go on with what they have in their queues.
 */
void service_retire(struct service *service, u64 deadline_ns);

/* Receivers first, then what is under way is drained, until the deadline (CLOCK_MONOTONIC). */
void service_stop(struct service *service, u64 deadline_ns);
void service_free(struct service *service);
DEFINE_CLEANUP(struct service *, service_free)

/* ---- For components ---------------------------------------------------------- */

struct metrics *service_metrics(struct service *service);
struct server *service_server(struct service *service);
struct arrivals *service_arrivals(struct service *service);
struct taps *service_taps(struct service *service);
struct boost_desk *service_boosts(struct service *service);
struct control *service_control(struct service *service);
uid_t service_starter(struct service *service);

/* The extension with this id, of those that service.extensions names, or NULL; its self goes to ret_self. */
const struct component_ops *service_extension(struct service *service, const char *id, void **ret_self);

/* ---- For health_check, zpages and the page ---------------------------------- */

struct component_view {
	enum component_kind kind;
	const char *id, *type;
	const char *pipeline;		/* of a processor; "" else */
	enum health health;
	char last_error[STATUS_TEXT_MAX];	/* "" if there was none */
	u64 last_error_unix_ns;
};

/* The i-th component, -ENOENT past the last. */
int service_component(struct service *service, u32 i, struct component_view *ret_view);

/* The i-th pipeline as the configuration has it; -ENOENT past the last. */
struct pipeline_view {
	const char *id;
	const struct config_node *receivers, *processors, *exporters;	/* lists of ids; processors may be NULL */
};
int service_pipeline(struct service *service, u32 i, struct pipeline_view *ret_view);

/* The worst of all components: HEALTH_OK when all are. */
enum health service_health(struct service *service);
u64 service_started_unix_ns(struct service *service);

#endif
