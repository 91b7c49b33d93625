// SPDX-License-Identifier: Apache-2.0
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "kinds/choice.h"
#include "kinds/probe.h"

static void check(const struct kind_choice *choice)
{
	if (!choice->probe)
		return;
	if (choice->number < KIND_PROBES || choice->number >= KIND_MAX || !*choice->kind->name ||
	    strlen(choice->kind->name) >= PROBE_NAME_BYTES || !*choice->kind->sample.unit)
		abort();
	for (const char *c = choice->kind->name; *c; c++)
		if (*c < 0x21 || *c > 0x7e)
			abort();
}

/* Whatever is written as -e: what comes out is whole, and what is refused has a reason. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct kind_choices choices = { 0 };
	char *text = strndup((const char *)data, size);
	struct buf why;

	if (!text)
		return 0;
	buf_init(&why, 65536);
	if (kind_choices_add(&choices, text, &why) < 0 && !why.len)
		abort();
	if (choices.count > KIND_MAX)
		abort();
	for (u32 i = 0; i < choices.count; i++)
		check(&choices.at[i]);
	kind_choices_done(&choices);
	buf_done(&why);
	free(text);
	return 0;
}
