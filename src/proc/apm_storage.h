/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an APM agent of Elastic's protocol says about the process that it is in (elastic/apm,
 * specs/agents/universal-profiling-integration.md): a variable of the agent's library points to
 *
 *	u16 version	1; more are the same with something behind it, 0 is none
 *	text		the service's name
 *	text		its environment: production, testing ...
 *	text		the path of a socket at which the agent listens to profilers: not read, nothing is sent there
 *
 * each text being a u32 of its bytes, and these. The variable is NULL until all of it is there, which stays as it is.
 * All of it is the process's own to write. No state; the caller brings the way to read memory.
 */
#ifndef PROC_APM_STORAGE_H
#define PROC_APM_STORAGE_H

#include "base/types.h"

struct process_context_reader;

#define APM_TEXT_BYTES 127	/* of a text that are taken */
#define APM_TEXT_MAX 4096	/* that one can have: agents have a page for all of them */

struct apm_storage {
	char service[APM_TEXT_BYTES + 1], environment[APM_TEXT_BYTES + 1];
};

/* Where the variable points to; 0: nowhere yet. */
u64 apm_storage_at(const struct process_context_reader *reader, u64 variable_va);

/* 0, or -EBADMSG: it is none; or why it cannot be read. */
int apm_storage_read(const struct process_context_reader *reader, u64 va, struct apm_storage *ret_storage);

#endif
