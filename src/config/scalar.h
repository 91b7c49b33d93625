/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plain scalar of YAML means, as Go's yaml.v3 has it: YAML 1.2's words
 * (true, null, .inf; yes and on are strings), and numbers of both versions
 * (0x1F, 0o17, 017, 0b11, 1_000). A date is a string here.
 */
#ifndef CONFIG_SCALAR_H
#define CONFIG_SCALAR_H

#include "config/node.h"

/* Sets kind, text and value; text is borrowed. */
void scalar_resolve(const char *text, struct config_node *node);

#endif
