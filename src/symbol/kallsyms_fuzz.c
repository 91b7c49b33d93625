// SPDX-License-Identifier: Apache-2.0
#include "symbol/kallsyms.h"

#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every address of the table must be found under some name once the table is whole, or be a gap. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *line;
	struct kallsyms_line parsed;
	struct ksym_table table;
	struct ksym ksym;
	u64 last = 0;

	ksym_table_init(&table);
	while ((line = strsep(&rest, "\n"))) {
		if (!kallsyms_parse(line, &parsed))
			continue;
		last = parsed.va;
		ksym_table_add(&table, parsed.va, parsed.type, parsed.name, parsed.module);
	}
	if (ksym_table_finish(&table) == 0) {
		for (u64 va = last - 64; va != last + 64; va++) {
			if (ksym_table_find(&table, va, &ksym) && (!*ksym.name || !*ksym.module))
				abort();
		}
	}
	ksym_table_done(&table);
	free(text);
	return 0;
}
