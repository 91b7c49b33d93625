/* SPDX-License-Identifier: Apache-2.0 */
/* What an ELF file is: its ids, where its debug information may be found, what it maps. */
#ifndef EXE_IDENTIFY_H
#define EXE_IDENTIFY_H

struct exe;
struct exe_info;

/* Headers, notes and links of a file. What is missing or malformed is left empty. */
void exe_identify(const struct exe *exe, struct exe_info *ret_info);

#endif
