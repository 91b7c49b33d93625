// SPDX-License-Identifier: Apache-2.0
#include <ctype.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"

/* What the two see differently: nesting beyond our limit, numbers beyond jansson's, NUL, which ends text for it. */
static int is_special(const uint8_t *data, size_t size)
{
	size_t open = 0, digits = 0;

	for (size_t i = 0; i < size; i++) {
		open += data[i] == '[' || data[i] == '{';
		digits = isdigit(data[i]) ? digits + 1 : 0;
		if (!data[i] || digits > 18 || data[i] == 'e' || data[i] == 'E' ||
		    (data[i] == 'u' && i && data[i - 1] == '\\'))
			return 1;
	}
	return open > JSON_READ_DEPTH_MAX;
}

/* What we skip as JSON is what jansson reads as JSON. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *root = json_loadb((const char *)data, size, JSON_ALLOW_NUL | JSON_DECODE_ANY, NULL);
	struct json_read j;

	json_read_init(&j, data, size);
	json_read_skip(&j);
	if ((json_read_end(&j) == 0) != (root != NULL) && !is_special(data, size))
		abort();
	json_read_done(&j);
	json_decref(root);
	return 0;
}
