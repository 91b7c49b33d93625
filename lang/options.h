/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be chosen of the names and stacks that languages give: X(name, flag, standard, help). Each language has its
 * own in its options.h; `name` is the key of the receiver `profiling`, `flag` that of the command line. All are
 * switches.
 */
#ifndef LANG_OPTIONS_H
#define LANG_OPTIONS_H

#include <stdbool.h>

#include "base/types.h"
#include "lang/beam/options.h"
#include "lang/hotspot/options.h"
#include "lang/python/options.h"
#include "lang/v8/options.h"

#define LANG_OPTIONS(X)    \
	HOTSPOT_OPTIONS(X) \
	V8_OPTIONS(X)      \
	PYTHON_OPTIONS(X)  \
	BEAM_OPTIONS(X)

enum lang_option {
#define X(name, flag, standard, help) LANG_OPTION_##name,
	LANG_OPTIONS(X)
#undef X
	LANG_OPTION_COUNT,
};
_Static_assert(LANG_OPTION_COUNT <= 32, "bits of struct lang_process's wishes");

enum {
#define X(name, flag, standard, help) LANG_STANDARD_##name = standard,
	LANG_OPTIONS(X)
#undef X
};

/* As they were read. */
struct lang_options {
#define X(name, flag, standard, help) bool name;
	LANG_OPTIONS(X)
#undef X
};
#define LANG_OPTION_STANDARD(name, flag, standard, help) .name = standard,
#define LANG_OPTIONS_STANDARD { LANG_OPTIONS(LANG_OPTION_STANDARD) }

/* In one number: a bit is set where an option is not as it is by itself, so that 0 is the standard. */
#define LANG_WISH(name) (1u << LANG_OPTION_##name)
#define LANG_WANTS(wishes, name) ((((wishes) & LANG_WISH(name)) == 0) == LANG_STANDARD_##name)
u32 lang_wishes(const struct lang_options *options);

#endif
