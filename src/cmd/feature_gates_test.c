// SPDX-License-Identifier: Apache-2.0
#include "cmd/feature_gates.h"

#include <errno.h>

#include "test.h"

static void reads(const char *list, int result, const char *error, const char *warning)
{
	struct feature_gates gates = { 0 };
	struct config_errors errors;

	config_errors_init(&errors);
	EQ(feature_gates_read(list, &gates, &errors), result);
	STREQ(errors.error_count ? errors.errors[0] : "", error);
	STREQ(errors.warning_count ? errors.warnings[0] : "", warning);
	config_errors_done(&errors);
}

TEST(feature_gates_of_the_collector_are_known)
{
	reads("", 0, "", "");
	reads("service.profilesSupport", 0, "", "");
	reads("+service.profilesSupport,otelcol.printInitialConfig", 0, "", "");
	reads("-service.profilesSupport", 0, "", "--feature-gates: service.profilesSupport is always on in wick");
	reads("ottl.set.allowNil", 0, "", "--feature-gates: ottl.set.allowNil has no effect in wick");
}

TEST(feature_gates_that_nobody_has_are_errors)
{
	reads("service.profileSupport", -EINVAL,
	      "--feature-gates: there is no feature gate service.profileSupport; did you mean service.profilesSupport?",
	      "");
	reads("x", -EINVAL, "--feature-gates: there is no feature gate x; wick needs none for profiles", "");
	reads("service.profilesSupport,", -EINVAL, "--feature-gates: a name is missing; write a,+b,-c", "");
	reads("-", -EINVAL, "--feature-gates: a name is missing; write a,+b,-c", "");
}

TEST(feature_gate_of_appended_lists_is_obeyed)
{
	struct feature_gates gates = { 0 };
	struct config_errors errors;

	config_errors_init(&errors);
	EQ(feature_gates_read("confmap.enableMergeAppendOption", &gates, &errors), 0);
	EQ(gates.append_lists, true);
	EQ(feature_gates_read("-confmap.enableMergeAppendOption", &gates, &errors), 0);
	EQ(gates.append_lists, false);
	config_errors_done(&errors);
}
