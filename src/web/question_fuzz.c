// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "web/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct question question;
	char *query = malloc(size + 1);
	struct store_selection base;
	enum store_label label;
	struct buf why;
	u32 number = 1;

	if (!query)
		return 0;
	memcpy(query, data, size);
	query[size] = '\0';
	buf_init(&why, 1024);
	if (question_parse(query, 1800000000000000000ull, &question, &why) == 0) {
		(void)question_base(&question, 1800000000000000000ull, &base, &why);
		(void)question_label(&question, "group", &label, &why);
		(void)question_number(&question, "rows", 1, 1000, &number, &why);
		if (number < 1 || number > 1000 || question.selection.from_ns >= question.selection.to_ns)
			abort();
	}
	buf_done(&why);
	free(query);
	return 0;
}
