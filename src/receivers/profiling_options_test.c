// SPDX-License-Identifier: Apache-2.0
#include "receivers/profiling_options.h"

#include "base/buf.h"
#include "lang/lang.h"
#include "test.h"

static struct config_errors errors;

static void check(const struct profiling_config *options)
{
	config_errors_done(&errors);
	config_errors_init(&errors);
	profiling_config_check(options, (struct config_place){ "", 0, 0 }, "receivers::profiling", &errors);
}

TEST(profiling_options_have_defaults_that_pass)
{
	config_errors_init(&errors);
	check(&profiling_defaults);
	EQ(errors.error_count, 0);
	EQ(errors.warning_count, 0);
	config_errors_done(&errors);
}

TEST(profiling_options_serve_all_senders_unless_told)
{
	EQ(profiling_defaults.governor.senders, false);
}

TEST(profiling_options_know_the_older_list_of_tracers)
{
	struct profiling_config options = profiling_defaults;

	config_errors_init(&errors);
	options.tracers = "all,luajit";
	check(&options);
	EQ(errors.error_count + errors.warning_count, 0);
	options.tracers = "native";
	check(&options);
	EQ(errors.error_count + errors.warning_count, 0);
	options.tracers = "python,cobol";
	check(&options);
	EQ(errors.error_count, 1);
	OK(strstr(errors.errors[0], "tracers has no cobol"));
	config_errors_done(&errors);
}

TEST(profiling_options_switch_languages_off)
{
	struct profiling_config options = profiling_defaults;

	EQ(profiling_langs_off(&options), 0);
	options.python_off = true;
	EQ(profiling_langs_off(&options), lang_named("python", 6) ? 1u << lang_named("python", 6) : 0);
	options.tracers = "native";
	EQ(profiling_langs_off(&options), ~1u);
}

TEST(profiling_options_say_what_is_not_there_yet)
{
	struct profiling_config options = profiling_defaults;

	config_errors_init(&errors);
	options.send_idle_frames = true;
	check(&options);
	EQ(errors.error_count, 0);
	EQ(errors.warning_count, 1);
	options.pid_namespace_translation = true;
	check(&options);
	EQ(errors.error_count, 1);
	config_errors_done(&errors);
}

TEST(profiling_options_sample_waits_beside_what_is_sampled)
{
	struct profiling_config options = profiling_defaults;
	struct kind_choices kinds;
	struct buf why;

	buf_init(&why, 1024);
	options.off_cpu_threshold = 0.25;
	EQ(profiling_kinds(&options, &kinds, &why), 0);
	EQ(kinds.count, 2);
	STREQ(kinds.at[0].kind->name, "cpu");
	STREQ(kinds.at[1].kind->name, "off_cpu");
	EQ(profiling_agent_options(&options, 1).tracer.waits.chance >> 24, 63);
	options.kinds = (struct config_texts){ 1, (const char *const[]){ "wall" } };
	EQ(profiling_kinds(&options, &kinds, &why), 0);
	EQ(kinds.count, 1);
	buf_done(&why);
}

TEST(profiling_options_check_labels_of_threads)
{
	static struct thread_label_spec labels[] = { { "tenant", "current_tenant", "lib(", THREAD_LABEL_U32 } };
	struct profiling_config options = profiling_defaults;

	config_errors_init(&errors);
	options.thread_labels = (struct config_sections){ 1, labels };
	check(&options);
	EQ(errors.error_count, 1);
	OK(strstr(errors.errors[0], "thread_labels: tenant: file: "));
	labels[0].file = "lib";
	check(&options);
	EQ(errors.error_count, 0);
	EQ(profiling_agent_options(&options, 1).tracer.thread_labels.count, 1);
	config_errors_done(&errors);
}

TEST(profiling_options_check_cpus_and_variables)
{
	struct profiling_config options = profiling_defaults;

	config_errors_init(&errors);
	options.pin_cpu_ids = "0-3,7";
	options.include_env_vars = (struct config_texts){ 2, (const char *const[]){ "HOME", "PATH" } };
	check(&options);
	EQ(errors.error_count, 0);
	options.pin_cpu_ids = "0-";
	options.include_env_vars = (struct config_texts){ 2, (const char *const[]){ "A=B", "" } };
	check(&options);
	EQ(errors.error_count, 3);
	config_errors_done(&errors);
}
