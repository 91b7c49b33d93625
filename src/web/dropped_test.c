// SPDX-License-Identifier: Apache-2.0
#include "web/dropped.h"

#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/clock.h"
#include "store/store.h"
#include "test.h"

#define LIMIT ((u64)64 << 20)

/* The status; the body goes to text. */
static int drop(struct dropped *dropped, const char *name, const char *bytes, size_t len, char text[512])
{
	struct buf body;
	struct api_answer answer = { .body = &body };

	buf_init(&body, 1 << 20);
	dropped_add(dropped, name, bytes, len, &answer);
	snprintf(text, 512, "%.*s", (int)body.len, body.data);
	buf_done(&body);
	return answer.status;
}

static void id_of(const char *text, char id[DROPPED_ID_BYTES])
{
	const char *at = strstr(text, "\"id\":\"");

	OK(at);
	memcpy(id, at + 6, DROPPED_ID_BYTES - 1);
	id[DROPPED_ID_BYTES - 1] = '\0';
}

static u32 count_of(struct dropped *dropped)
{
	struct buf body;
	struct api_answer answer = { .body = &body };
	u32 count = 0;

	buf_init(&body, 1 << 20);
	dropped_list(dropped, &answer);
	buf_add(&body, "", 1);
	for (const char *at = body.data; (at = strstr(at, "\"id\"")); at++)
		count++;
	buf_done(&body);
	return count;
}

static struct dropped *new_one(void)
{
	struct dropped *dropped = NULL;

	EQ(dropped_new(NULL, &dropped), 0);
	return dropped;
}

TEST(dropped_files_are_asked_as_stores_are)
{
	struct store_selection selection = { .to_ns = clock_ns(CLOCK_REALTIME) + SECOND_NS };
	struct dropped *dropped = new_one();
	char text[512], id[DROPPED_ID_BYTES];
	struct store_values values;
	struct store *store;

	EQ(drop(dropped, "a.folded", "a;b 3\na;c 4\n", 12, text), 200);
	OK(strstr(text, "\"format\":\"folded\"") && strstr(text, "\"timed\":false"));
	id_of(text, id);
	store = dropped_borrow(dropped, id);
	OK(store && !store_directory(store));
	EQ(store_values(store, &selection, STORE_TYPE, 10, &values), 0);
	EQ(values.count, 1);
	EQ(values.at[0].total, 7);
	store_values_done(&values);
	OK(dropped_return(dropped, store));
	OK(!dropped_return(dropped, NULL));
	OK(!dropped_borrow(dropped, "") && !dropped_borrow(dropped, "0123"));
	dropped_free(dropped);
}

TEST(dropped_files_say_what_cannot_be_read)
{
	static const struct {
		const char *name, *bytes, *sentence;
		size_t len;
	} cases[] = {
		{ "x", "\1\2\3\4\5\6\7", "no profile that can be read", 7 },
		{ "x", "", "no profile that can be read", 0 },
		{ "x", "\x1f\x8b\x08 cut", "", 7 },
		{ "x.speedscope.json", "{\"$schema\":1}", "no profile that can be read", 13 },
	};
	struct dropped *dropped = new_one();
	char text[512];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		EQ(drop(dropped, cases[i].name, cases[i].bytes, cases[i].len, text), 400);
		OK(strstr(text, cases[i].sentence));
	}
	EQ(count_of(dropped), 0);
	dropped_free(dropped);
}

TEST(dropped_files_make_room_for_new_ones_and_go_by_themselves)
{
	struct dropped *dropped = new_one();
	char text[512], first[DROPPED_ID_BYTES], second[DROPPED_ID_BYTES];
	struct store *held;

	EQ(drop(dropped, "1", "a 1\n", 4, text), 200);
	id_of(text, first);
	held = dropped_borrow(dropped, first);
	EQ(drop(dropped, "2", "a 2\n", 4, text), 200);
	id_of(text, second);
	for (u32 i = 0; i < DROPPED_MAX; i++)
		EQ(drop(dropped, "more", "a 3\n", 4, text), 200);
	EQ(count_of(dropped), DROPPED_MAX);
	/* Whoever asks keeps his; the next oldest went. */
	OK(!dropped_borrow(dropped, second));
	dropped_expire(dropped, monotonic_ns() + 2 * DROPPED_AGE_NS);
	EQ(count_of(dropped), 1);
	OK(dropped_return(dropped, held));
	dropped_expire(dropped, monotonic_ns() + DROPPED_AGE_NS / 2);
	EQ(count_of(dropped), 1);
	dropped_expire(dropped, monotonic_ns() + 2 * DROPPED_AGE_NS);
	EQ(count_of(dropped), 0);
	OK(!dropped_borrow(dropped, first));
	dropped_free(dropped);
}

TEST(dropped_files_go_when_they_are_forgotten)
{
	struct dropped *dropped = new_one();
	char text[512], id[DROPPED_ID_BYTES];

	EQ(drop(dropped, "1", "a 1\n", 4, text), 200);
	id_of(text, id);
	OK(dropped_forget(dropped, id));
	OK(!dropped_forget(dropped, id));
	EQ(count_of(dropped), 0);
	dropped_free(dropped);
}

/* Many stacks of many frames, all different: what is small as a file is large as a trie. */
static void add_stacks(struct buf *file, u32 stacks, u32 depth)
{
	for (u32 i = 0; i < stacks; i++) {
		for (u32 k = 0; k < depth; k++)
			buf_addf(file, "%s%x", k ? ";" : "", i * 31 + k);
		buf_addf(file, " 1\n");
	}
}

TEST(dropped_files_take_no_more_memory_than_there_is)
{
	struct dropped *dropped = new_one();
	struct budget_scope scope;
	struct buf file;
	u64 before;
	char text[512];
	int status;

	buf_init(&file, (size_t)64 << 20);
	add_stacks(&file, 40000, 64);
	budget_set_limit(LIMIT);
	before = budget_total();
	budget_begin(&scope, BUDGET_QUESTIONS);
	status = drop(dropped, "large.folded", file.data, file.len, text);
	budget_end(&scope);
	EQ(status, 413);
	OK(strstr(text, "memory"));
	EQ(budget_total(), before);
	budget_begin(&scope, BUDGET_QUESTIONS);
	EQ(drop(dropped, "small.folded", "a;b 1\n", 6, text), 200);
	budget_end(&scope);
	OK(budget_total() > before);
	dropped_free(dropped);
	EQ(budget_total(), before);
	budget_set_limit(UINT64_MAX);
	buf_done(&file);
}
