/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a struct rows from rules told in ascending order of their address.
 * Equal neighbours become one row. Past a limit rows are counted as dropped,
 * and what they would have covered has RULE_NONE.
 */
#ifndef EXE_ROWS_BUILD_H
#define EXE_ROWS_BUILD_H

#include "abi.h"
#include "base/cleanup.h"

struct rows;
struct rows_build;

#define ROWS_PAGES_MAX 65536	/* 4 GiB of text */

struct rows_build *rows_build_new(void);
void rows_build_free(struct rows_build *build);
DEFINE_CLEANUP(struct rows_build *, rows_build_free)

/* The rule holds from ea on, which must not be below the last one; the same address again replaces its rule. */
void rows_build_add(struct rows_build *build, u64 ea, const struct unwind_rule *rule);

/*
 * The same of a part that is wanted, with arg the struct rows_build, for those who tell of more: what is past its end
 * is left out, and what holds before it holds at its start, unless more is told. All of it, unless it was set.
 */
void rows_build_set_part(struct rows_build *build, u64 start_ea, u64 end_ea);
void rows_build_tell(void *arg, u64 ea, const struct unwind_rule *rule);

/* Counts rows that the caller had to leave out. */
void rows_build_drop(struct rows_build *build, u32 count);

/* The block, the caller's to free(). -ENODATA if there is no row. */
int rows_build_finish(const struct rows_build *build, u16 machine, u64 text_bytes, struct rows **ret_rows);

#endif
