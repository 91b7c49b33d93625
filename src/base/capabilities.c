// SPDX-License-Identifier: Apache-2.0
#include "base/capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BITS 64

void capabilities_bound(u64 wanted)
{
	for (int bit = 0; bit < BITS; bit++)
		if (!(wanted & CAPABILITY(bit)) && prctl(PR_CAPBSET_READ, bit, 0, 0, 0) == 1)
			(void)prctl(PR_CAPBSET_DROP, bit, 0, 0, 0);
}

int capabilities_keep(u64 wanted)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	capabilities_bound(wanted);
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, sets) < 0)
		return -errno;
	for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
		sets[i].permitted &= (u32)(wanted >> 32 * i);
		sets[i].effective = sets[i].permitted;
		sets[i].inheritable = 0;
	}
	if (syscall(SYS_capset, &head, sets) < 0)
		return -errno;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}
