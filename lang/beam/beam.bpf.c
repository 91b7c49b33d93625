// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
#include "walk.h"

#include "beam_step.h"

WALKER(LANG_BEAM)
