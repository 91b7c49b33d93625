// SPDX-License-Identifier: Apache-2.0
/* A statement and a condition, separated by a NUL or a newline pair, on a small profile. */
#include "ottl/ottl.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

static void make(struct ottl_target *t)
{
	struct keyvalue attributes[] = {
		{ STR("a"), { ANY_STRING, 0, .string = { "text of it", 10 } } },
		  { STR("n"), { ANY_INT, 0, .integer = 5 } },
		{ STR("d"), { ANY_DOUBLE, 0, .real = 2.5 } },
	};
	static const s64 values[] = { 1, 2 };
	u32 attribute;

	t->profile = profile_new();
	t->resource = profile_add_resource(t->profile, attributes, 3);
	t->scope = profile_add_scope(t->profile, t->resource);
	t->set = profile_add_set(t->profile, t->scope);
	t->sample = profile_add_sample(t->profile, t->set);
	attribute = profile_add_attribute_string(t->profile, "a", "b");
	t->sample->attributes = profile_copy_indices(t->profile, &attribute, 1);
	t->sample->values = profile_copy(t->profile, values, sizeof(values));
	t->sample->value_count = 2;
}

static void run_text(const char *text, struct ottl_target *target)
{
	_cleanup_(ottl_program_freep) struct ottl_program *statements = ottl_program_new(OTTL_SAMPLE);
	_cleanup_(ottl_program_freep) struct ottl_program *conditions = ottl_program_new(OTTL_INFER);
	_cleanup_(ottl_run_done) struct ottl_run run;
	_cleanup_(buf_done) struct buf why;

	buf_init(&why, 4096);
	ottl_run_init(&run);
	ottl_run_at(&run, target);
	if (ottl_add_statement(statements, text, &why) == 0) {
		(void)ottl_execute(statements, 0, &run);
		(void)ottl_execute(statements, 0, &run);
	}
	if (ottl_add_condition(conditions, text, &why) == 0)
		(void)ottl_holds(conditions, 0, &run);
	if (profile_err(target->profile) == 0 && profile_check(target->profile) < 0)
		abort();
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct ottl_target target;
	char text[4096], *rest = text, *one;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	make(&target);
	for (int i = 0; i < 8 && (one = strsep(&rest, "\n")); i++)
		run_text(one, &target);
	profile_free(target.profile);
	return 0;
}
