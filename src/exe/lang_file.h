/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file has to do with the runtime of a language: found in the reader process, from its contents, not its name.
 * A flat block, so that it can be sent between processes as it is.
 */
#ifndef EXE_LANG_FILE_H
#define EXE_LANG_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "abi.h"
#include "exe/tls_variable.h"

struct exe;
struct functions;
struct lines_builder;

#define LANG_MARKS_MAX 32
#define LANG_FACTS_MAX 128
#define LANG_NAME_MAX 4096	/* bytes of a name; longer ones are cut */

/* Where an APM agent says what the process is (proc/apm_storage.h): beside its variable of threads. */
#define APM_STORAGE "elastic_apm_profiling_correlation_process_storage_v1"

/* Code [start_ea, end_ea) that a frame of is looked at by the runtime's own unwinder: an interpreter's loop. */
struct lang_mark {
	u64 start_ea, end_ea;
};

struct lang_file {
	u32 lang;			/* enum lang (lang/list.h); 0: of none, there are variables only */
	u32 mark_count;
	struct lang_mark marks[LANG_MARKS_MAX];
	u64 facts[LANG_FACTS_MAX];	/* what its language makes of them: addresses, offsets, a version */
	/* Where each thread says for what it works, by the record's layout (bpf/abi.h: Threads). */
	struct tls_variable requests[REQUEST_LAYOUT_COUNT];
	u64 apm_storage_ea;		/* of the variable that APM_STORAGE names; 0: the file has none */
	struct tls_variable labels[TLS_WANTED_MAX];	/* variables that were asked for */
};

/* A function as a language's own tables name it. */
struct lang_function {
	u64 start_ea, end_ea;
	bool is_native;			/* code of another language that was linked with it */
	char name[LANG_NAME_MAX];	/* as the language's own tools print it */
};

/*
 * Tables of its code that a compiled language leaves in its files (Go's pclntab): they know better than CFI, symbol
 * tables and DWARF, and are there in stripped files too. Asked for with exe/lang_tables.h.
 */
struct lang_tables_ops {
	/* -ENODATA if the file has none. The file outlives what is opened. */
	int (*open)(const struct exe *exe, void **ret_tables);
	void (*close)(void *tables);
	/* Adds the functions it has unwind rows for, as FUNCTION_LANG, each with a number of its own. */
	void (*functions)(const void *tables, struct functions *ret_functions);
	/* Tells the rows of the function with that number, in ascending order. */
	void (*rows)(const void *tables, u32 number, void (*row)(void *arg, u64 ea, const struct unwind_rule *rule),
		     void *arg);
	/* The function at an address; false if it knows none. */
	bool (*function)(const void *tables, u64 ea, struct lang_function *ret_function);
	/* Adds the lines of an address, innermost first; false if it knows none. */
	bool (*lines)(const void *tables, u64 ea, struct lines_builder *builder);
};

/* The half of a language that looks at files; it runs in the reader process and never sees a live one. */
struct lang_file_ops {
	/*
	 * 0 if the file holds this runtime, with marks and facts filled in (zeroed before); -ENODATA if not.
	 * NULL: it has no part in live processes.
	 */
	int (*recognise)(const struct exe *exe, struct lang_file *ret_file);
	bool is_general;	/* asked only of files that no other knows: what it looks for, others may have, too */
	const struct lang_tables_ops *tables;	/* NULL: it leaves none */
};

/*
 * Asks the languages of the file (struct exe), by number, some of them NULL, and looks for variables of requests and
 * those that are wanted (NULL: none). -ENODATA if none knows it, and it has none.
 */
int lang_file_find(const struct exe *exe, const struct tls_wanted *wanted, struct lang_file *ret_file);

/* 0, or -EBADMSG if a block of that many bytes is not a struct lang_file. */
int lang_file_check(const struct lang_file *file, size_t bytes);

#endif
