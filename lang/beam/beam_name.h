/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a function is called, of what the runtime calls it: as Erlang writes it, lists:map/2, or, for modules of Elixir,
 * as Elixir does, Enum.map/2. What is no function has brackets: fragments of code that all modules share,
 * (garbage_collect), and jumps to them in a module, (lists::codeFooter).
 */
#ifndef LANG_BEAM_NAME_H
#define LANG_BEAM_NAME_H

struct buf;

void beam_name(struct buf *to, const char *name);

#endif
