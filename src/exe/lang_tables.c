// SPDX-License-Identifier: Apache-2.0
#include "exe/lang_tables.h"

void lang_tables_done(struct lang_tables *tables)
{
	if (tables->ops)
		tables->ops->close(tables->state);
	*tables = (struct lang_tables){ 0 };
}
