/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Flags of the agents that people come from. They do nothing themselves: they
 * are written down as configuration, which `wick print-config FLAGS` shows.
 *
 *  - Those of the stand-alone OpenTelemetry eBPF profiler, which also reads them
 *    from the environment (OTEL_PROFILING_AGENT_SAMPLES_PER_SECOND).
 *  - --enable-profiling-X of node agents with several outputs. NODE_NAME and
 *    DD_AGENT_HOST are read from the environment then.
 */
#ifndef CMD_AGENT_FLAGS_H
#define CMD_AGENT_FLAGS_H

#include "cmd/options.h"

struct buf;

/* Texts, so that the configuration's own checks judge them; NULL: not given. */
struct agent_flags {
	const char *collection_agent, *samples_per_second, *reporter_interval, *monitor_interval, *clock_sync_interval,
		*tracers, *off_cpu_threshold, *env_vars, *map_scale_factor, *probabilistic_interval,
		*probabilistic_threshold, *bpf_log_level, *pprof;
	bool disable_tls, send_error_frames, no_kernel_version_check, verbose;

	bool datadog, otlp, otlp_insecure, perfdata, no_machine_metrics;
	const char *datadog_service, *datadog_env, *otlp_endpoint, *perfdata_path, *interval;
};

extern const struct option_entry agent_flag_entries[];

#define AGENT_FLAGS_GROUP(type, member)								\
	{ "Flags of older agents; print-config shows what they mean:", agent_flag_entries,	\
	  AGENT_FLAGS_COUNT, offsetof(type, member) }
#define AGENT_FLAGS_COUNT 27

/* Fills in what is not given from OTEL_PROFILING_AGENT_*. Values are borrowed from the environment. */
void agent_flags_read_environment(struct agent_flags *flags);

bool agent_flags_given(const struct agent_flags *flags);

/* What else there is: nothing, what is built in, or files, whose lists flags must not replace. */
enum agent_flags_beside { AGENT_FLAGS_ALONE, AGENT_FLAGS_BESIDE_PAGE, AGENT_FLAGS_BESIDE_FILES };

/* As YAML. -EINVAL with a sentence in error; -ENOMEM. */
int agent_flags_write(const struct agent_flags *flags, enum agent_flags_beside beside, struct buf *yaml,
		      char error[OPTIONS_ERROR_MAX]);

/* Does it say where profiles are to be sent? */
bool agent_flags_send(const struct agent_flags *flags);

#endif
