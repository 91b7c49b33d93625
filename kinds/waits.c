// SPDX-License-Identifier: Apache-2.0
#include "kinds/waits.h"

#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

/* Calls that wait for one kind of thing only; the others wait for what their file is. */
static const struct {
	s32 number;
	enum wait_reason reason;
} calls[] = {
	{ SYS_futex, REASON_FUTEX },
#ifdef SYS_futex_waitv
	{ SYS_futex_waitv, REASON_FUTEX },
#endif
	{ SYS_nanosleep, REASON_SLEEP },
	{ SYS_clock_nanosleep, REASON_SLEEP },
#ifdef SYS_poll
	{ SYS_poll, REASON_POLL },
	{ SYS_select, REASON_POLL },
	{ SYS_epoll_wait, REASON_POLL },
	{ SYS_pause, REASON_SIGNAL },
#endif
	{ SYS_ppoll, REASON_POLL },
	{ SYS_pselect6, REASON_POLL },
	{ SYS_epoll_pwait, REASON_POLL },
#ifdef SYS_epoll_pwait2
	{ SYS_epoll_pwait2, REASON_POLL },
#endif
	{ SYS_wait4, REASON_CHILD },
	{ SYS_waitid, REASON_CHILD },
	{ SYS_rt_sigtimedwait, REASON_SIGNAL },
	{ SYS_rt_sigsuspend, REASON_SIGNAL },
	{ SYS_fsync, REASON_DISK },
	{ SYS_fdatasync, REASON_DISK },
	{ SYS_sync, REASON_DISK },
	{ SYS_syncfs, REASON_DISK },
	{ SYS_sync_file_range, REASON_DISK },
	{ SYS_accept, REASON_NETWORK },
	{ SYS_accept4, REASON_NETWORK },
	{ SYS_connect, REASON_NETWORK },
	{ SYS_recvfrom, REASON_NETWORK },
	{ SYS_recvmsg, REASON_NETWORK },
	{ SYS_recvmmsg, REASON_NETWORK },
	{ SYS_sendto, REASON_NETWORK },
	{ SYS_sendmsg, REASON_NETWORK },
	{ SYS_sendmmsg, REASON_NETWORK },
	{ SYS_io_uring_enter, REASON_IO_URING },
};

/* By how a function of the kernel begins, from v5.10 to v6.18. */
static const struct {
	const char *begins;
	enum wait_reason reason;
} functions[] = {
	{ "pipe_read", REASON_PIPE }, { "pipe_write", REASON_PIPE }, { "anon_pipe_", REASON_PIPE },
	{ "pipe_wait", REASON_PIPE }, { "wait_for_partner", REASON_PIPE }, { "fifo_open", REASON_PIPE },
	{ "tcp_", REASON_NETWORK }, { "udp_", REASON_NETWORK }, { "sock_", REASON_NETWORK },
	{ "unix_", REASON_NETWORK }, { "inet_", REASON_NETWORK }, { "sk_wait_", REASON_NETWORK },
	{ "n_tty_", REASON_TERMINAL }, { "tty_", REASON_TERMINAL },
	{ "do_poll", REASON_POLL }, { "ep_poll", REASON_POLL }, { "do_sys_poll", REASON_POLL },
	{ "eventfd_", REASON_POLL }, { "inotify_", REASON_POLL }, { "signalfd_", REASON_SIGNAL },
	{ "timerfd_", REASON_SLEEP }, { "do_wait", REASON_CHILD }, { "kernel_wait4", REASON_CHILD },
	{ "wait_for_vfork_done", REASON_CHILD }, { "kernel_clone", REASON_CHILD },
	{ "io_schedule", REASON_DISK }, { "folio_wait_", REASON_DISK }, { "wait_on_page", REASON_DISK },
	{ "filemap_", REASON_DISK }, { "blk_", REASON_DISK }, { "submit_bio_wait", REASON_DISK },
	{ "jbd2_", REASON_DISK }, { "ext4_", REASON_DISK }, { "xfs_", REASON_DISK }, { "btrfs_", REASON_DISK },
	{ "nfs_", REASON_NETWORK }, { "rpc_", REASON_NETWORK },
	{ "rwsem_", REASON_KERNEL_LOCK }, { "down_", REASON_KERNEL_LOCK }, { "__mutex_lock", REASON_KERNEL_LOCK },
	{ "__down_", REASON_KERNEL_LOCK }, { "mutex_lock", REASON_KERNEL_LOCK }, { "__rt_mutex_", REASON_KERNEL_LOCK },
	{ "rt_mutex_", REASON_KERNEL_LOCK },
	{ "synchronize_rcu", REASON_KERNEL_LOCK }, { "wait_rcu", REASON_KERNEL_LOCK },
	{ "futex_", REASON_FUTEX }, { "do_futex", REASON_FUTEX },
	{ "do_nanosleep", REASON_SLEEP }, { "hrtimer_nanosleep", REASON_SLEEP }, { "ptrace_stop", REASON_STOPPED },
	{ "do_signal_stop", REASON_STOPPED },
	{ "handle_mm_fault", REASON_PAGE_FAULT }, { "do_user_addr_fault", REASON_PAGE_FAULT },
	{ "do_page_fault", REASON_PAGE_FAULT }, { "exc_page_fault", REASON_PAGE_FAULT },
	{ "userfaultfd_", REASON_PAGE_FAULT }, { "handle_userfault", REASON_PAGE_FAULT },
};

static const char *const texts[] = {
#define X(ID, text) [REASON_##ID] = text,
	WAIT_REASONS(X)
#undef X
};

enum wait_reason wait_reason(u32 wait, s32 syscall)
{
	switch (wait) {
	case WAIT_NOT:
		return REASON_NONE;
	case WAIT_CPU:
		return REASON_RUN_QUEUE;
	case WAIT_STOP:
		return REASON_STOPPED;
	case WAIT_UNKNOWN:
		return REASON_OTHER;
	}
	if (syscall < 0)
		return REASON_PAGE_FAULT;	/* nothing else makes user code wait by itself */
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i].number == syscall)
			return calls[i].reason;
	return wait == WAIT_DISK ? REASON_DISK : REASON_OTHER;
}

enum wait_reason wait_reason_by(enum wait_reason reason, const char *function)
{
	/* A group of processes that has used up its time is put aside on the way back to user code (v6.18). */
	if (reason == REASON_RUN_QUEUE)
		return strncmp(function, "throttle_cfs_rq_work", 20) ? reason : REASON_THROTTLED;
	if (reason != REASON_OTHER)
		return reason;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (!strncmp(function, functions[i].begins, strlen(functions[i].begins)))
			return functions[i].reason;
	return reason;
}

bool wait_wakes(const char *function)
{
	return !strcmp(function, "try_to_wake_up");
}

/* From v5.10 to v6.18, x86-64 and arm64. */
bool wait_is_interrupt(const char *function)
{
	static const char *const begins[] = { "asm_sysvec_", "asm_common_interrupt", "asm_exc_nmi", "el1_irq",
					      "el0_irq", "el1_interrupt", "el0_interrupt", "el1h_64_irq",
					      "el0t_64_irq" };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(function, begins[i], strlen(begins[i])))
			return true;
	return false;
}

enum wait_reason wait_reason_named(struct str text)
{
	for (u32 i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (str_equal(text, (struct str){ texts[i], (u32)strlen(texts[i]) }))
			return (enum wait_reason)i;
	return REASON_OTHER;
}

const char *wait_reason_text(enum wait_reason reason)
{
	return reason < sizeof(texts) / sizeof(*texts) ? texts[reason] : "";
}
