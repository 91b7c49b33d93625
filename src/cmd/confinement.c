// SPDX-License-Identifier: Apache-2.0
#include "cmd/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/call_filter.h"
#include "base/capabilities.h"
#include "base/landlock.h"

/* What sampling needs (docs/security.md), and to make readers nobody, to end them, and to be served in time. */
#define CAP(name) CAPABILITY(CAP_##name)
#define SAMPLER_CAPS                                                                                                \
	(CAP(BPF) | CAP(PERFMON) | CAP(SYS_PTRACE) | CAP(CHECKPOINT_RESTORE) | CAP(SYSLOG) | CAP(DAC_READ_SEARCH) | \
	 CAP(SYS_RESOURCE) | CAP(SYS_NICE) | CAP(SETUID) | CAP(SETGID) | CAP(KILL))

/* To start both: beside what the sampler needs, the service's user is made and given its directories. */
#define SUPERVISOR_CAPS \
	(SAMPLER_CAPS | CAP(SETPCAP) | CAP(CHOWN) | CAP(FOWNER) | CAP(DAC_OVERRIDE) | CAP(NET_BIND_SERVICE))

#define NAMESPACES                                                                                         \
	(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET |         \
	 CLONE_NEWCGROUP)

#define ANY(call) { SYS_##call, CALL_ANY, 0, 0 }

/* What neither half has any use for: other namespaces and roots, the kernel's own state, keys, other ways to these. */
#define USELESS                                                                                                  \
	ANY(ptrace), ANY(process_vm_writev), ANY(kcmp), ANY(pidfd_getfd), ANY(mount), ANY(umount2),              \
	ANY(pivot_root), ANY(chroot), ANY(move_mount), ANY(open_tree), ANY(fsopen), ANY(fsconfig), ANY(fsmount), \
	ANY(fspick), ANY(setns), ANY(unshare), { SYS_clone, CALL_HAS_BITS, 0, NAMESPACES },                      \
	{ SYS_clone3, CALL_ABSENT, 0, 0 }, ANY(keyctl), ANY(add_key), ANY(request_key), ANY(kexec_load),         \
	ANY(kexec_file_load), ANY(init_module), ANY(finit_module), ANY(delete_module), ANY(reboot), ANY(swapon), \
	ANY(swapoff), ANY(sethostname), ANY(setdomainname), ANY(acct), ANY(quotactl), ANY(settimeofday),         \
	ANY(clock_settime), ANY(adjtimex), ANY(clock_adjtime), ANY(userfaultfd), ANY(io_uring_setup),            \
	ANY(io_uring_enter), ANY(io_uring_register), ANY(open_by_handle_at), ANY(vhangup), ANY(mknodat),         \
	{ SYS_personality, CALL_DIFFERS, 0, 0xffffffff }

static void say(struct buf *why, const char *what, int r)
{
	buf_addf(why, "cannot give up privileges (%s: %s); --privileges=keep runs with all of them", what,
		 strerror(-r));
}

static int filter(const struct call_rule *rules, size_t count, struct buf *why)
{
	int r = call_filter_deny(rules, count);

	if (r < 0)
		say(why, "this kernel does not filter system calls", r);
	return r;
}

static int keep(u64 caps, struct buf *why)
{
	int r = capabilities_keep(caps);

	if (r < 0)
		say(why, "capabilities", r);
	return r;
}

static u64 probe_caps(const struct confinement *c)
{
	return c->has_user_probes ? CAP(SYS_ADMIN) : 0;
}

int confine_supervisor(const struct confinement *c, struct buf *why)
{
	return c->is_off ? 0 : keep(SUPERVISOR_CAPS | probe_caps(c), why);
}

/*
 * Engines of containers are asked over sockets of this machine. debuginfod is asked by the symbolizer: with it, and
 * only then, the sampler opens connections to others.
 */
int confine_sampler(const struct confinement *c, struct buf *why)
{
	static const struct call_rule rules[] = { { SYS_socket, CALL_DIFFERS, 0, AF_UNIX },
						  ANY(listen), ANY(bind), ANY(accept), ANY(accept4),
						  USELESS };
	const char *urls = getenv("DEBUGINFOD_URLS");
	size_t first = urls && *urls ? 5 : 0;
	int r;

	(void)prctl(PR_SET_DUMPABLE, 0);
	if (c->is_off)
		return 0;
	r = keep(SAMPLER_CAPS | probe_caps(c), why);
	return r < 0 ? r : filter(rules + first, sizeof(rules) / sizeof(rules[0]) - first, why);
}

static int become(const struct confinement *c)
{
	if (c->uid == geteuid())
		return 0;
	/* Across the change of user; those that are wanted are taken up again after it. */
	if (prctl(PR_SET_KEEPCAPS, c->binds_low) < 0)
		return -errno;
	if (setgroups(0, NULL) < 0 || setresgid(c->gid, c->gid, c->gid) < 0 || setresuid(c->uid, c->uid, c->uid) < 0)
		return -errno;
	return 0;
}

static int keep_files(const struct confinement *c, struct buf *why)
{
	int r = c->rules_fd < 0 ? 0 : landlock_enforce(c->rules_fd);

	if (r < 0)
		say(why, "Landlock", r);
	return r;
}

/* Whom a signal reaches cannot be told from the call, but for our own threads. */
int confine_service(const struct confinement *c, struct buf *why)
{
	const struct call_rule rules[] = {
		ANY(bpf), ANY(perf_event_open), ANY(process_vm_readv), ANY(process_madvise), ANY(syslog),
		ANY(kill), ANY(tkill), ANY(rt_sigqueueinfo), ANY(rt_tgsigqueueinfo), ANY(pidfd_send_signal),
		{ SYS_tgkill, CALL_DIFFERS, 0, (u32)getpid() }, { SYS_fcntl, CALL_EQUALS, 1, F_SETOWN },
		{ SYS_fcntl, CALL_EQUALS, 1, F_SETOWN_EX }, { SYS_fcntl, CALL_EQUALS, 1, F_SETSIG }, USELESS,
	};
	const u64 caps = c->binds_low ? CAP(NET_BIND_SERVICE) : 0;
	int r;

	if (c->is_off)
		return 0;
	capabilities_bound(caps);	/* while that may be done */
	r = become(c);
	if (r < 0) {
		say(why, "change of user", r);
		return r;
	}
	r = keep(caps, why);
	if (r == 0)
		r = keep_files(c, why);
	if (r == 0)
		r = filter(rules, sizeof(rules) / sizeof(rules[0]), why);
	/* A change of user takes it away; who looks for who has a port looks into /proc. */
	(void)prctl(PR_SET_DUMPABLE, 1);
	return r;
}
