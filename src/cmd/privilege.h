/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The capabilities that wick uses, whether this process has them, and what
 * each missing one costs. One list: `wick doctor` prints it, all that sample
 * refuse or warn by it.
 */
#ifndef CMD_PRIVILEGE_H
#define CMD_PRIVILEGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct privilege {
	const char *name;	/* "CAP_BPF" */
	int bit;
	bool required;		/* nothing can be recorded without it */
	bool admin_will_do;	/* the kernel takes CAP_SYS_ADMIN instead */
	const char *cost;	/* what its absence costs */
};

/* Ended by a NULL name. */
extern const struct privilege privileges[];

/*
 * The line that gives wick what it needs without root. Without CAP_SYS_RESOURCE, which only kernels before 5.11 need: a
 * program that has a capability which its bounding set lacks cannot be started at all.
 */
#define PRIVILEGE_ADVICE \
	"run it with sudo, or once: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace,cap_syslog," \
	"cap_checkpoint_restore,cap_dac_read_search=ep $(command -v wick)"

/* The effective capabilities of this process as bits; -errno. */
int privilege_read(u64 *ret_caps);

/* As in /proc/PID/status. -EBADMSG if there is no CapEff line. */
int privilege_parse(const char *status, u64 *ret_caps);

bool privilege_held(const struct privilege *privilege, u64 caps);

/* The required ones that are missing, "CAP_BPF and no CAP_PERFMON"; "" if none is. Returns text. */
const char *privilege_missing(u64 caps, char *text, size_t bytes);

/* Is it missing where it makes a difference? CAP_SYS_RESOURCE does on kernels that charge BPF memory to a limit. */
bool privilege_is_lacking(const struct privilege *privilege, u64 caps);
bool privilege_memlock_counts(void);

/* What those cost that are lacking but not required, in a sentence; "" if none is. Returns text. */
#define PRIVILEGE_COSTS_BYTES 512
const char *privilege_costs(u64 caps, char *text, size_t bytes);

/* The same of this process. */
const char *privilege_costs_here(char text[PRIVILEGE_COSTS_BYTES]);

#endif
