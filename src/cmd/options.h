/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Command-line options from a table. All there is to say about an option (its
 * names, argument, type, range, default and help) is one entry; parsing, the
 * error messages and --help are made from it.
 *
 *   --name VALUE   --name=VALUE   -nVALUE   -n VALUE   -abc   --switch
 *   --no-switch   --switch=false   --
 *
 * Values are written into the command's own struct at the entry's offset:
 *
 *	OPTION_SWITCH	bool; --no-NAME clears it
 *	OPTION_INTEGER	s64, min..max
 *	OPTION_REAL	double, min..max
 *	OPTION_TEXT	const char *, borrowed from argv
 *	OPTION_CHOICE	int, the index in choices
 *	OPTION_NUMBERS	struct option_numbers, "1,2,3", may be repeated; each min..max
 *	OPTION_TEXTS	struct option_texts, may be repeated; borrowed from argv
 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/types.h"

#define OPTION_NUMBERS_MAX 256
#define OPTION_TEXTS_MAX 64
#define OPTIONS_ERROR_MAX 256

enum option_type {
	OPTION_SWITCH,
	OPTION_INTEGER,
	OPTION_REAL,
	OPTION_TEXT,
	OPTION_CHOICE,
	OPTION_NUMBERS,
	OPTION_TEXTS,
};

struct option_numbers {
	u32 count;
	u32 at[OPTION_NUMBERS_MAX];
};

struct option_texts {
	u32 count;
	const char *at[OPTION_TEXTS_MAX];
};

struct option_entry {
	const char *name;		/* long, without "--"; NULL ends the table */
	char letter;			/* short, or 0 */
	enum option_type type;
	size_t offset;			/* of the value in the command's struct */
	const char *argument;		/* what help calls the value, NULL for switches */
	const char *standard;		/* the default as one would type it ("on" for switches), or NULL */
	double min, max;		/* both 0: any */
	const char *const *choices;	/* ended by NULL */
	const char *help;
};

/* Options that several commands share, as one struct inside of theirs. */
struct option_group {
	const char *heading;		/* in --help */
	const struct option_entry *entries;
	u32 count;
	size_t offset;			/* of the shared struct in the command's */
};

struct options {
	const struct option_entry *entries;
	bool stop_at_operand;		/* "record CMD ARGS": what follows the first operand is not ours */
	struct option_group group;	/* entries NULL: none */
	bool single_dash;		/* -name=VALUE too, as Go's programs have it */
};

enum options_outcome { OPTIONS_OK, OPTIONS_HELP };

/*
 * Parses argv[0..argc) into values, defaults first. Operands are moved to the
 * front of argv in their order, *ret_operands tells how many. Returns enum
 * options_outcome, or -EINVAL with a sentence (no newline) in error.
 */
int options_parse(const struct options *options, int argc, char **argv, void *values, int *ret_operands,
		  char error[OPTIONS_ERROR_MAX]);

/* The list of options as in --help. */
void options_print(const struct options *options, FILE *out);

#endif
