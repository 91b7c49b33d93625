// SPDX-License-Identifier: Apache-2.0
#include "proc/thread_labels.h"

#include <errno.h>

#include "base/buf.h"
#include "test.h"

static int check(const struct thread_label_spec *spec, u32 count, struct buf *why)
{
	why->len = 0;
	return thread_labels_check(&(struct thread_label_specs){ spec, count }, why);
}

TEST(thread_labels_look_for_their_variables_in_files_that_fit)
{
	static const struct thread_label_spec specs[] = {
		{ "tenant", "current_tenant", "libapp\\.so", THREAD_LABEL_STRING },
		{ "job", "job_id", "", THREAD_LABEL_U64 },
	};
	struct thread_labels *labels;
	struct buf why;

	buf_init(&why, 1024);
	EQ(thread_labels_new(&(struct thread_label_specs){ specs, 2 }, &labels, &why), 0);
	EQ(labels->variables.count, 2);
	STREQ(labels->variables.name[1], "job_id");
	STREQ(labels->at[0].name, "tenant");
	OK(thread_labels_fit(labels, 0, "/opt/libapp.so.1"));
	OK(!thread_labels_fit(labels, 0, "/opt/libappso"));
	OK(thread_labels_fit(labels, 1, "/anything"));
	thread_labels_free(labels);
	buf_done(&why);
}

TEST(thread_labels_refuse_what_cannot_be)
{
	static const struct thread_label_spec wrong[] = {
		{ "", "v", NULL, 0 }, { NULL, "v", NULL, 0 }, { "a\nb", "v", NULL, 0 }, { "\xff", "v", NULL, 0 },
		{ "n", "", NULL, 0 }, { "n", NULL, NULL, 0 }, { "n", "v", "(", 0 }, { "thread.id", "v", NULL, 0 },
		{ "0123456789012345678901234567890123456789012345678901234567890123", "v", NULL, 0 },
	};
	struct thread_label_spec many[THREAD_LABELS_MAX + 1];
	struct buf why;

	buf_init(&why, 1024);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		EQ(check(&wrong[i], 1, &why), -EINVAL);
		OK(why.len);
	}
	for (u32 i = 0; i <= THREAD_LABELS_MAX; i++)
		many[i] = (struct thread_label_spec){ "n", "v", NULL, 0 };
	EQ(check(many, THREAD_LABELS_MAX, &why), 0);
	EQ(check(many, THREAD_LABELS_MAX + 1, &why), -EINVAL);
	buf_done(&why);
}

TEST(thread_labels_read_no_more_than_the_variable_has)
{
	EQ(thread_label_bytes(THREAD_LABEL_U32, 4), 4);
	EQ(thread_label_bytes(THREAD_LABEL_S64, 4), 0);
	EQ(thread_label_bytes(THREAD_LABEL_U64, 0), 8);
	EQ(thread_label_bytes(THREAD_LABEL_STRING, 16), 17);	/* the last may be no NUL */
	EQ(thread_label_bytes(THREAD_LABEL_STRING, 63), 64);
	EQ(thread_label_bytes(THREAD_LABEL_STRING, 4096), THREAD_LABEL_BYTES);
	EQ(thread_label_bytes(THREAD_LABEL_STRING, 0), THREAD_LABEL_BYTES);
	EQ(thread_label_bytes(THREAD_LABEL_POINTER, 8), THREAD_LABEL_BYTES);
	EQ(thread_label_bytes(THREAD_LABEL_POINTER, 4), 0);
}

TEST(thread_labels_are_words_of_a_command_line)
{
	static const char *const wrong[] = { "", "tenant", "tenant=v", "tenant=v:", "tenant=v:u16", "v:u32", "=:@" };
	struct thread_label_word label;
	struct buf why;

	buf_init(&why, 4096);
	EQ(thread_label_parse("tenant=current_tenant:string", &label, &why), 0);
	STREQ(label.spec.name, "tenant");
	STREQ(label.spec.variable, "current_tenant");
	EQ(label.spec.type, THREAD_LABEL_STRING);
	OK(!label.spec.file);
	EQ(thread_label_parse("a.b=x::y:s32@lib(a=b:c@)\\.so", &label, &why), 0);
	STREQ(label.spec.name, "a.b");
	STREQ(label.spec.variable, "x::y");
	EQ(label.spec.type, THREAD_LABEL_S32);
	STREQ(label.spec.file, "lib(a=b:c@)\\.so");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		EQ(thread_label_parse(wrong[i], &label, &why), -EINVAL);
	buf_done(&why);
}
