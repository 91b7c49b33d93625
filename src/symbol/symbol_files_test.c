// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbol_files.h"

#include <stdlib.h>

#include "exe/reader.h"
#include "proc/binary.h"
#include "test.h"

static struct binary *make_binary(u32 id)
{
	struct binary *binary = calloc(1, sizeof(*binary));

	OK(binary);
	*binary = (struct binary){ .refs = 1, .id = id, .fd = -1, .root_fd = -1, .path = strdup("/bin/x") };
	return binary;
}

TEST(symbol_files_are_closed_when_idle)
{
	_cleanup_(reader_freep) struct reader *reader = NULL;
	_cleanup_(binary_unrefp) struct binary *a = make_binary(1);
	_cleanup_(binary_unrefp) struct binary *b = make_binary(2);
	struct symbol_files_set set;

	EQ(reader_start(0, &reader), 0);
	EQ(symbol_files_init(&set, reader, NULL), 0);
	OK(symbol_files_get(&set, a, 1));
	OK(symbol_files_get(&set, b, 1));
	OK(symbol_files_get(&set, b, SYMBOL_FILES_IDLE_NS));
	EQ(a->refs, 2);
	symbol_files_close_idle(&set, SYMBOL_FILES_IDLE_NS + 1);
	EQ(a->refs, 1);
	EQ(b->refs, 2);
	OK(symbol_files_get(&set, b, SYMBOL_FILES_IDLE_NS + 1)->binary == b);
	EQ(set.count, 1);
	symbol_files_done(&set);
	EQ(b->refs, 1);
}

TEST(symbol_files_are_bounded)
{
	_cleanup_(reader_freep) struct reader *reader = NULL;
	_cleanup_(binary_unrefp) struct binary *first = make_binary(1);
	struct symbol_files_set set;

	EQ(reader_start(0, &reader), 0);
	EQ(symbol_files_init(&set, reader, NULL), 0);
	OK(symbol_files_get(&set, first, 1));
	for (u32 i = 2; i <= SYMBOL_FILES_MAX + 1; i++) {
		_cleanup_(binary_unrefp) struct binary *binary = make_binary(i);

		EQ(first->refs, 2);
		OK(symbol_files_get(&set, binary, i));
	}
	EQ(set.count, SYMBOL_FILES_MAX);
	EQ(first->refs, 1);
	symbol_files_done(&set);
}
