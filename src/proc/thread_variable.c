// SPDX-License-Identifier: Apache-2.0
#include "proc/thread_variable.h"

#include <errno.h>

#include "exe/tls_variable.h"
#include "proc/process_context.h"

#define MODULES_MAX 65536	/* numbers that a process can have given its files */

/*
 * The table of a thread's blocks:
 *
 *	glibc	entries of two words, from number 1 on; before the first the length, in an entry of its own
 *		(sysdeps/generic/dl-dtv.h). Its address is the second word at the thread pointer on x86-64, the first
 *		on arm64 (sysdeps/.../nptl/tls.h: tcbhead_t).
 *	musl	entries of a word; the first is the length. Its address is the second word at the thread pointer on
 *		x86-64, the one before it on arm64 (src/internal/pthread_impl.h).
 */
#if REG_RA == 30
#define DTV_AT_GLIBC 0
#define DTV_AT_MUSL (-8)
#else
#define DTV_AT_GLIBC 8
#define DTV_AT_MUSL 8
#endif

/* Is it a distance from the thread pointer? Those are negative on x86-64; on arm64 no program begins so low. */
static bool is_distance(u64 word)
{
#if REG_RA == 30
	return word < 0x400000;
#else
	return (s64)word < 0;
#endif
}

static int in_module(u64 module, u64 offset, bool is_musl, struct variable_place *ret_place)
{
	if (!module)
		return -EAGAIN;
	if (module > MODULES_MAX)
		return -EFAULT;
	*ret_place = (struct variable_place){ .module = module, .offset = offset,
					      .dtv_at = is_musl ? DTV_AT_MUSL : DTV_AT_GLIBC,
					      .count_at = is_musl ? 0 : -16, .entry_bytes = is_musl ? 8 : 16 };
	return 0;
}

int thread_variable_place(const struct tls_variable *variable, u64 bias, bool is_musl,
			  const struct process_context_reader *reader, struct variable_place *ret_place)
{
	u64 slot[2] = { 0 }, index[2];
	size_t bytes = variable->access == TLS_DESCRIPTOR ? sizeof(slot) : sizeof(*slot);
	int r = 0;

	if (variable->access != TLS_PROGRAM)
		r = reader->read(reader->arg, variable->slot_ea + bias, slot, bytes);
	if (r < 0)
		return r;
	/* The file is mapped, but the dynamic linker has not come to it. */
	if (variable->access == TLS_DESCRIPTOR && !(slot[0] | slot[1]))
		return -EAGAIN;
	if (variable->access == TLS_MODULE)
		return in_module(slot[0], variable->offset, is_musl, ret_place);
	if (variable->access == TLS_DESCRIPTOR && !is_distance(slot[1])) {
		r = reader->read(reader->arg, slot[1], index, sizeof(index));
		return r < 0 ? r : in_module(index[0], index[1] + variable->offset, is_musl, ret_place);
	}
	if (variable->access == TLS_OFFSET && !slot[0])
		return -EAGAIN;
	*ret_place = (struct variable_place){ .offset = variable->offset + (variable->access == TLS_OFFSET ? slot[0] :
									    slot[1]) };
	return 0;
}
