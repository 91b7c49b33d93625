// SPDX-License-Identifier: Apache-2.0
#include "lang/go/go_file.h"

#include "lang/go/go_tables.h"

const struct lang_file_ops go_file_ops = {
	.tables = &go_tables_ops,
};
