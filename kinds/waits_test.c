// SPDX-License-Identifier: Apache-2.0
#include "kinds/waits.h"

#include <string.h>
#include <sys/syscall.h>

#include "test.h"

TEST(a_wait_is_named_after_the_call_that_waits)
{
	EQ(wait_reason(WAIT_NOT, -1), REASON_NONE);
	EQ(wait_reason(WAIT_SLEEP, SYS_futex), REASON_FUTEX);
	EQ(wait_reason(WAIT_SLEEP, SYS_clock_nanosleep), REASON_SLEEP);
	EQ(wait_reason(WAIT_BLOCK, SYS_fsync), REASON_DISK);
	EQ(wait_reason(WAIT_STOP, SYS_futex), REASON_STOPPED);
}

TEST(a_reason_is_found_by_its_text)
{
	for (u32 i = REASON_NONE; i <= REASON_OTHER; i++)
		EQ(wait_reason_named((struct str){ wait_reason_text(i), (u32)strlen(wait_reason_text(i)) }), i);
	EQ(wait_reason_named(STR("boredom")), REASON_OTHER);
}

TEST(a_thread_that_could_run_waits_for_a_cpu_whatever_it_called)
{
	EQ(wait_reason(WAIT_CPU, SYS_futex), REASON_RUN_QUEUE);
	EQ(wait_reason_by(REASON_RUN_QUEUE, "futex_wait"), REASON_RUN_QUEUE);
	EQ(wait_reason_by(REASON_RUN_QUEUE, "throttle_cfs_rq_work"), REASON_THROTTLED);
}

TEST(what_a_read_waits_for_the_kernels_functions_tell)
{
	EQ(wait_reason(WAIT_SLEEP, SYS_read), REASON_OTHER);
	EQ(wait_reason(WAIT_DISK, SYS_read), REASON_DISK);
	EQ(wait_reason_by(REASON_OTHER, "anon_pipe_read"), REASON_PIPE);
	EQ(wait_reason_by(REASON_OTHER, "tcp_recvmsg_locked"), REASON_NETWORK);
	EQ(wait_reason_by(REASON_OTHER, "schedule"), REASON_OTHER);
	EQ(wait_reason_by(REASON_FUTEX, "tcp_recvmsg"), REASON_FUTEX);
}

TEST(user_code_that_waits_waits_for_memory)
{
	EQ(wait_reason(WAIT_DISK, -1), REASON_PAGE_FAULT);
	STREQ(wait_reason_text(REASON_PAGE_FAULT), "page_fault");
}

TEST(what_an_interrupt_has_interrupted_wakes_nobody)
{
	OK(wait_wakes("try_to_wake_up"));
	OK(!wait_wakes("wake_up_q"));
	OK(wait_is_interrupt("asm_sysvec_apic_timer_interrupt"));
	OK(wait_is_interrupt("el1h_64_irq"));
	OK(!wait_is_interrupt("do_syscall_64"));
}
