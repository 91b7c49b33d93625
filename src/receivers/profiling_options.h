/* SPDX-License-Identifier: Apache-2.0 */
/* What can be said about the receiver `profiling`. */
#ifndef RECEIVERS_PROFILING_OPTIONS_H
#define RECEIVERS_PROFILING_OPTIONS_H

#include <stdbool.h>

#include "agent/agent.h"
#include "config/fields.h"
#include "kinds/choice.h"
#include "lang/options.h"

enum profiling_error_mode { PROFILING_PROPAGATE, PROFILING_IGNORE };

struct profiling_config {
	struct config_texts kinds;
	s64 samples_per_second;
	s64 reporter_interval_ns;
	double reporter_jitter;
	s64 probabilistic_interval_ns, probabilistic_threshold;
	const char *tracers;
	bool python_off, perl_off, php_off, hotspot_off, ruby_off, v8_off, dotnet_off, go_off, beam_off;
	bool luajit_off, lua_off;
	struct config_sections services, include, exclude;	/* struct process_rule */
	struct config_sections thread_labels;			/* struct thread_label_spec */
	struct config_texts include_env_vars, container_sockets, container_labels;
	s64 filter_min_process_age_ns;
	double off_cpu_threshold;
	s64 off_cpu_min_duration_ns, off_cpu_max_rate;
	bool requests;
	bool send_error_frames, send_idle_frames, verbose_mode;
	struct lang_options langs;
	struct profiling_governor {
		bool enabled;
		double max_cpu;		/* percent of one CPU; 0: not given */
		s64 average_over_ns;
		bool senders;
	} governor;
	s64 map_scale_factor, bpf_verifier_log_level;
	bool no_kernel_version_check;
	int error_mode;			/* enum profiling_error_mode */
	bool obi_process_ctx, pid_namespace_translation;
	const char *bpf_fs_root, *pin_cpu_ids;
	const struct config_node *probes, *probe_links, *u_probe_links;
};

extern const struct config_field profiling_fields[];
extern const struct profiling_config profiling_defaults;

/* The kinds of samples that are wanted; none: the default. -EINVAL with a sentence in `why`. */
int profiling_kinds(const struct profiling_config *config, struct kind_choices *ret_kinds, struct buf *why);

/* For the agent, but for the kinds of samples. */
/* cpu_percent: that --max-cpu gives to who has no limit of his own; 0: what fits the machine. */
struct agent_options profiling_agent_options(const struct profiling_config *config, double cpu_percent);

/* Its rules about processes. They can change while it samples: see profiling_is_rule(). */
struct process_choice_spec profiling_choice(const struct profiling_config *config);
bool profiling_is_rule(const char *key);

/* The languages whose frames are not wanted: bit n for number n of lang/list.h. */
u32 profiling_langs_off(const struct profiling_config *config);

/* For component_ops.check. */
void profiling_config_check(const void *options, struct config_place place, const char *path,
			    struct config_errors *errors);

#endif
