/* SPDX-License-Identifier: Apache-2.0 */
/* Every component that this binary has, from the list.h of each folder. */
#ifndef CMD_COMPONENTS_H
#define CMD_COMPONENTS_H

#include "pipeline/registry.h"

extern const struct component_registry components;

#endif
