/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of another process's subs, packages and files, as Perl keeps them. What
 * is read is hostile: a walk through it is bounded, and an object that is not of
 * its type is none.
 */
#ifndef LANG_PERL_NAMES_H
#define LANG_PERL_NAMES_H

#include "lang/lang.h"
#include "lang/memory.h"
#include "lang/perl/perl_layout.h"

/* "Package::sub", by a glob or by code that has its own name: 0, -ESTALE if it is none, or as memory_err(). */
int perl_names_glob(const struct perl_layout *layout, struct memory *memory, u64 glob_va,
		    char ret_text[LANG_TEXT_MAX + 1]);
int perl_names_code(const struct perl_layout *layout, struct memory *memory, u64 code_va,
		    char ret_text[LANG_TEXT_MAX + 1]);

/* The file that a glob stands for: it is called "_<" and that. */
int perl_names_file(struct memory *memory, u64 glob_va, char ret_text[LANG_TEXT_MAX + 1]);

/* A text with its length before it, from what was kept of it. false if it makes no sense. */
bool perl_names_kept(const u8 *bytes, size_t count, char *ret_text);

#endif
