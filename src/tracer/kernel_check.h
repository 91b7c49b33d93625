/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Can reading user memory from BPF freeze this kernel?
 *
 * Linux 5.19 made the checks of copy_from_user_nofault() take a lock of the
 * vmalloc area, also in an interrupt that came while that lock was held: the
 * CPU then waits for itself. Fixed in 6.4 and in the stable releases 6.1.36
 * and 6.3.10 (d319f344561d "mm: Fix copy_from_user_nofault()"). It cannot be
 * probed without risking the freeze, so here, and only here, a version decides.
 */
#ifndef TRACER_KERNEL_CHECK_H
#define TRACER_KERNEL_CHECK_H

struct kernel_names {
	char release[128];	/* uname -r */
	char version[256];	/* uname -v: on Debian it holds the true version */
	char signature[128];	/* /proc/version_signature: likewise on Ubuntu; "" elsewhere */
};

struct kernel_version {
	unsigned major, minor, patch;
};

enum kernel_verdict {
	KERNEL_SAFE,
	KERNEL_UNSURE,	/* a distribution's kernel in the range, that may or may not have taken the fix */
	KERNEL_FREEZES,
};

/* -errno if the kernel does not tell its name. */
int kernel_names_read(struct kernel_names *ret_names);

/* ret_version, which may be NULL, gets the version that was judged; all 0 if there is none to be read. */
enum kernel_verdict kernel_check(const struct kernel_names *names, struct kernel_version *ret_version);

/* A sentence for the verdict, with what to do; "" for KERNEL_SAFE. */
const char *kernel_verdict_text(enum kernel_verdict verdict);

#endif
