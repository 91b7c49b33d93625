// SPDX-License-Identifier: Apache-2.0
#include "symbol/known_functions.h"

#include "base/cleanup.h"
#include "test.h"

TEST(known_functions_finds_the_one_that_an_address_lies_in)
{
	_cleanup_(known_functions_done) struct known_functions known = { 0 };

	OK(!known_functions_find(&known, 0x100));
	known_functions_add(&known, &(struct known_function){ 0x300, 0x10, 1 });
	known_functions_add(&known, &(struct known_function){ 0x100, 0x20, 2 });
	known_functions_add(&known, &(struct known_function){ 0x200, 0x20, 3 });
	OK(!known_functions_find(&known, 0xff));
	EQ(known_functions_find(&known, 0x100)->named, 2);
	EQ(known_functions_find(&known, 0x11f)->named, 2);
	OK(!known_functions_find(&known, 0x120));
	EQ(known_functions_find(&known, 0x210)->named, 3);
	EQ(known_functions_find(&known, 0x30f)->named, 1);
	OK(!known_functions_find(&known, 0x310));
	/* What is known better by now takes its place. */
	known_functions_add(&known, &(struct known_function){ 0x100, 0x40, 4 });
	EQ(known_functions_find(&known, 0x13f)->named, 4);
	EQ(known.count, 3);
}

TEST(known_functions_is_emptied_when_it_is_full)
{
	_cleanup_(known_functions_done) struct known_functions known = { 0 };

	for (u32 i = 0; i <= KNOWN_FUNCTIONS_MAX; i++)
		known_functions_add(&known, &(struct known_function){ 0x1000 + i * 16, 16, 0 });
	EQ(known.count, 1);
	OK(!known_functions_find(&known, 0x1000));
	OK(known_functions_find(&known, 0x1000 + KNOWN_FUNCTIONS_MAX * 16 + 15));
}
