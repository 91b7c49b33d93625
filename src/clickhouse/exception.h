/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a server did not do what it was asked for, from what it says:
 *
 *	Code: 60. DB::Exception: Table fleet.x does not exist. (UNKNOWN_TABLE) (version 26.9.2.1 (official build))
 *
 * What it says is from outside: cut, and printable in one line afterwards.
 */
#ifndef CLICKHOUSE_EXCEPTION_H
#define CLICKHOUSE_EXCEPTION_H

#include <stdbool.h>
#include <stddef.h>

#include "base/types.h"

struct clickhouse_exception {
	u32 code;		/* 0: it does not say */
	char name[48];		/* "UNKNOWN_TABLE", or "" */
	char text[160];		/* "Table fleet.x does not exist"; the first line, if it is no such text */
};

void clickhouse_exception_parse(const char *at, size_t bytes, struct clickhouse_exception *ret_exception);

/* Is a table or a database not there? Then they can be made. */
bool clickhouse_exception_is_missing(const struct clickhouse_exception *exception);

/* Will it be the same whenever the request is sent again? By the code, else by the status of HTTP. */
bool clickhouse_exception_is_permanent(const struct clickhouse_exception *exception, int status);

#endif
