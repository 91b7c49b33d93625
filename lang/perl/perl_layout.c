// SPDX-License-Identifier: Apache-2.0
#include "lang/perl/perl_layout.h"

#include <stddef.h>

#define CONTEXT_96 .context_bytes = 96, .sub_code = 64, .eval_name = 56, .eval_env = 88, .info_type = 40
#define CONTEXT_104 .context_bytes = 104, .sub_code = 72, .eval_name = 64, .eval_env = 96, .info_type = 44
#define OLD_INTERPRETER .op = 8, .cop = 224, .info = 240
#define INTERPRETER .op = 8, .cop = 208, .info = 224

static const struct { u32 version; struct perl_layout layout; } known[] = {
	{ PERL_VERSION(5, 28), { OLD_INTERPRETER, CONTEXT_96 } },
	{ PERL_VERSION(5, 30), { OLD_INTERPRETER, CONTEXT_96 } },
	{ PERL_VERSION(5, 32), { OLD_INTERPRETER, CONTEXT_104 } },
	{ PERL_VERSION(5, 34), { INTERPRETER, CONTEXT_104 } },
	{ PERL_VERSION(5, 36), { INTERPRETER, CONTEXT_104, .name_in_body = true } },
	{ PERL_VERSION(5, 38), { INTERPRETER, CONTEXT_104, .name_in_body = true } },
	{ PERL_VERSION(5, 40), { INTERPRETER, CONTEXT_104, .name_in_body = true } },
	{ PERL_VERSION(5, 42), { INTERPRETER, CONTEXT_104, .name_in_body = true } },
};

const struct perl_layout *perl_layout_of(u32 version)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].version == version)
			return &known[i].layout;
	return NULL;
}
