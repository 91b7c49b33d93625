// SPDX-License-Identifier: Apache-2.0
#include "kinds/locks.h"

#include "test.h"

TEST(a_lock_is_what_the_function_is_for_that_waits)
{
	EQ(lock_kind_of(STR("pthread_mutex_lock")), LOCK_MUTEX);
	EQ(lock_kind_of(STR("___pthread_mutex_lock")), LOCK_MUTEX);
	EQ(lock_kind_of(STR("__lll_lock_wait")), LOCK_MUTEX);
	EQ(lock_kind_of(STR("pthread_cond_wait")), LOCK_CONDITION);
	EQ(lock_kind_of(STR("main")), LOCK_UNKNOWN);
	EQ(lock_kind_of(STR("")), LOCK_UNKNOWN);
}

TEST(a_condition_is_had_by_nobody)
{
	OK(lock_is_held(LOCK_MUTEX));
	OK(!lock_is_held(LOCK_CONDITION));
	STREQ(lock_kind_text(LOCK_CONDITION), "condition");
}

TEST(where_a_program_waits_is_no_function_of_a_library_for_locks)
{
	OK(lock_is_machinery(STR("std::mutex::lock()")));
	OK(lock_is_machinery(STR("__futex_abstimed_wait_common")));
	OK(!lock_is_machinery(STR("handle_request")));
}
