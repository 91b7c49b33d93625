// SPDX-License-Identifier: Apache-2.0
/* Labels made up in our own memory, read as those of another process. */
#include "lang/go/go.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "forge_labels.h"
#include "lang/go/go_file.h"
#include "lang/go/labels.h"
#include "lang/go/layout.h"
#include "lang/named.h"
#include "test.h"

#define LOOP_NO_UNROLL

typedef const struct lang_process *go_reader;

static int go_read(go_reader process, void *to, u32 bytes, u64 va)
{
	return lang_read(process, va, to, bytes);
}

#include "lang/go/signature.h"

extern const struct lang_ops go_ops;

static u8 image[FORGE_LABELS_BYTES];

static struct lang_process self(void)
{
	return (struct lang_process){ .pid = (u32)getpid() };
}

static u64 sign(u64 kind, u64 how)
{
	struct lang_process process = self();
	struct go_room room;

	return go_sign(&process, kind, (u64)image, how, &room);
}

/* Attaches to ourselves, as a program with that kind of labels, and asks for those that are signed so. */
static const struct window_frame *ask(struct named *names, u64 kind, u64 signature)
{
	struct go_facts facts = { .kind = kind, .tls = -8ull, .curg = 184, .labels = 352, .mcall_start_ea = 0x1000 };
	struct lang_place place = { .bias = 0x400000, .path = "" };
	struct lang_process process = self();
	struct lang_file file = { .lang = LANG_GO };
	const struct window_frame *frame;
	struct runtime_slot slot;
	void *state;

	memcpy(file.facts, &facts, sizeof(facts));
	EQ(go_ops.attach(&process, &file, &place, &slot, &state), 0);
	EQ(((struct go_slot *)slot.word)->mcall_start_va, 0x401000);
	frame = named_find(names, &go_ops, state, &process, (u64[2]){
		(u64)FRAME_RUNTIME << FRAME_KIND_SHIFT | FRAME_LABELS | signature, (u64)image }, 0);
	go_ops.detach(state);
	return frame;
}

TEST(go_names_labels)
{
	static const char *const texts[] = { "request", "17", "user", "größe", "empty", "" };

	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++) {
		const struct window_frame *frame;
		struct named names;

		named_init(&names);
		forge_labels(image, (u64)image, kind, texts, 3);
		frame = ask(&names, kind, sign(kind, GO_BY_TEXT | GO_WITH_TEXT));
		EQ(frame->line_count, 0);
		EQ(frame->label_count, 3);
		for (u32 i = 0; i < 3; i++) {
			STREQ(frame->labels[i].key + strlen(LANG_LABEL_PREFIX), texts[2 * i]);
			OK(!strncmp(frame->labels[i].key, LANG_LABEL_PREFIX, strlen(LANG_LABEL_PREFIX)));
			STREQ(frame->labels[i].value, texts[2 * i + 1]);
		}
		named_done(&names);
	}
}

TEST(go_names_many_labels)
{
	static char pair[12][2][8];
	const char *texts[24];

	for (u32 i = 0; i < 24; i++) {
		snprintf(pair[i / 2][i % 2], sizeof(pair[0][0]), "%c%u", i % 2 ? 'v' : 'k', i / 2);
		texts[i] = pair[i / 2][i % 2];
	}
	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++) {
		const struct window_frame *frame;
		struct named names;

		named_init(&names);
		forge_labels(image, (u64)image, kind, texts, 12);
		frame = ask(&names, kind, sign(kind, GO_BY_TEXT | GO_WITH_TEXT));
		EQ(frame->label_count, 12);
		STREQ(frame->labels[11].value, "v11");
		named_done(&names);
	}
}

/* More than are signed by what they say: their memory was used again, at the same addresses. */
TEST(go_names_none_of_many_labels_that_are_no_longer_what_they_were)
{
	const char *texts[24];

	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++) {
		struct named names;
		u64 signature;

		for (u32 i = 0; i < 24; i++)
			texts[i] = "before";
		named_init(&names);
		forge_labels(image, (u64)image, kind, texts, 12);
		signature = sign(kind, GO_BY_TEXT | GO_WITH_TEXT);
		OK(signature & GO_WITH_TEXT && !(signature & GO_BY_TEXT));
		texts[1] = "behind";
		forge_labels(image, (u64)image, kind, texts, 12);
		EQ(ask(&names, kind, signature)->label_count, 0);
		EQ(names.unnamed, 1);
		named_done(&names);
	}
}

TEST(go_names_no_labels_that_took_the_place_of_others)
{
	static const char *const before[] = { "request", "17" }, *const after[] = { "request", "18" };

	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++) {
		struct named names;
		u64 signature;

		named_init(&names);
		forge_labels(image, (u64)image, kind, before, 1);
		signature = sign(kind, GO_BY_TEXT | GO_WITH_TEXT);
		forge_labels(image, (u64)image, kind, after, 1);
		EQ(ask(&names, kind, signature)->label_count, 0);
		EQ(ask(&names, kind, signature)->line_count, 0);
		EQ(names.unnamed, 2);
		/* They say the same as others did, which are there. */
		forge_labels(image, (u64)image, kind, before, 1);
		EQ(ask(&names, kind, signature)->label_count, 1);
		forge_labels(image, (u64)image, kind, after, 1);
		STREQ(ask(&names, kind, signature)->labels[0].value, "17");
		EQ(names.unnamed, 2);
		/* By address. */
		EQ(ask(&names, kind, sign(kind, 0))->label_count, 1);
		EQ(ask(&names, kind, sign(kind, 0) ^ 1)->label_count, 0);
		named_done(&names);
	}
}

TEST(go_waits_for_what_the_dynamic_linker_fills_in)
{
	static u64 got;
	struct go_facts facts = { .tls_ea = (u64)&got - 0x1000 };
	struct lang_place place = { .bias = 0x1000, .path = "" };
	struct lang_process process = self();
	struct lang_file file = { .lang = LANG_GO };
	struct runtime_slot slot;
	void *state;

	memcpy(file.facts, &facts, sizeof(facts));
	EQ(go_ops.attach(&process, &file, &place, &slot, &state), -EAGAIN);
	got = -128ull;
	EQ(go_ops.attach(&process, &file, &place, &slot, &state), 0);
	EQ(((struct go_slot *)slot.word)->tls, -128ull);
	go_ops.detach(state);
}

TEST(go_layouts_by_version)
{
	OK(!go_layout_known(0) && !go_layout_known(18));
	EQ(go_layout_known(20)->labels, 360);
	EQ(go_layout_known(22)->labels, 344);
	EQ(go_layout_known(23)->kind, GO_MAP);
	EQ(go_layout_known(24)->kind, GO_SLICE);
	EQ(go_layout_known(24)->curg, 192);
	EQ(go_layout_known(25)->sched_bp, 96);
	EQ(go_layout_known(99)->labels, go_layout_known(GO_MINOR_LAST)->labels);
}
