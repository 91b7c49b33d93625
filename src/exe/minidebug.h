/* SPDX-License-Identifier: Apache-2.0 */
/* .gnu_debugdata: an ELF file that holds a .symtab, compressed by xz into a section (Fedora's MiniDebugInfo). */
#ifndef EXE_MINIDEBUG_H
#define EXE_MINIDEBUG_H

#include "exe/elf.h"

/* Decompresses to ret_data (see exe_data_done()), within limits. -ENODATA if there is none, -EBADMSG, -E2BIG. */
int minidebug_read(const struct exe *exe, struct exe_data *ret_data);

#endif
