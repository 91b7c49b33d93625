/* SPDX-License-Identifier: Apache-2.0 */
/* What a file tells of the CPython in it: the facts of a struct lang_file. */
#ifndef LANG_PYTHON_FILE_H
#define LANG_PYTHON_FILE_H

#include "exe/lang_file.h"
#include "lang/python/python_layout.h"

struct python_facts {
	u64 runtime_ea;		/* _PyRuntime */
	u64 code_type_ea;	/* PyCode_Type; 0 if it is not known */
	struct python_layout layout;
	struct python_asyncio asyncio;
};

/* True if the file holds no CPython but only what asyncio says. */
static inline bool python_facts_are_part(const struct python_facts *facts)
{
	return !facts->runtime_ea && facts->asyncio.running_task;
}

_Static_assert(sizeof(struct python_facts) <= LANG_FACTS_MAX * sizeof(u64), "fits the facts");

extern const struct lang_file_ops python_file_ops;

#endif
