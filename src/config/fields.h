/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of a component, from a table. All there is to say about an option
 * (its name, older spellings, type, range, default, help) is one entry;
 * decoding, error messages, `wick components --options` and docs/config.md are
 * made from it.
 *
 *	static const struct config_field fields[] = {
 *		{ "endpoint", CONFIG_TEXT, FIELD(struct options, endpoint), .required = true, .help = "..." },
 *		{ "timeout", CONFIG_DURATION, FIELD(struct options, timeout_ns), .help = "..." },
 *		{ "tls", CONFIG_SECTION, FIELD(struct options, tls), .fields = tls_client_fields, .help = "..." },
 *		{ "balancer_name", CONFIG_REFUSED, .help = "wick connects to one address; remove it" },
 *		{ 0 },
 *	};
 *
 *	type			member			value in YAML
 *	CONFIG_BOOL		bool			true, false
 *	CONFIG_INTEGER		s64			min..max
 *	CONFIG_REAL		double			min..max
 *	CONFIG_DURATION		s64 (nanoseconds)	"1m30s", or a number of nanoseconds; min..max
 *	CONFIG_TEXT		const char *		string; other scalars as they were written
 *	CONFIG_SECRET		const char *		the same, printed as [REDACTED]
 *	CONFIG_CHOICE		int			one of choices, in any letter case; the member is its index
 *	CONFIG_TEXTS		struct config_texts	list of strings, or one string with commas between them
 *	CONFIG_PAIRS		struct config_pairs	map of strings, or list of {name, value}
 *	CONFIG_SECTION		the struct itself	map; null and {} are its defaults
 *	CONFIG_SECTIONS		struct config_sections	list of maps
 *	CONFIG_NODE		const struct config_node *	anything: the component reads it itself
 *	CONFIG_REFUSED		none			error: help says why, and what to do
 *	CONFIG_NEEDLESS		none			accepted with a warning: help says why there is nothing to set
 *
 * A name matches its option exactly; if any_case, also without underscores and in any letter case
 * (SamplesPerSecond), with a warning. Unknown keys are errors with the nearest name.
 *
 * null leaves the default. A scalar whose ${...} was all of its value and empty is "" for strings, else 0 or false.
 *
 * Strings and lists point into the config's arena: options live as long as the config.
 */
#ifndef CONFIG_FIELDS_H
#define CONFIG_FIELDS_H

#include <stddef.h>

#include "config/duration.h"
#include "config/errors.h"
#include "config/node.h"

enum config_type {
	CONFIG_BOOL = 1,
	CONFIG_INTEGER,
	CONFIG_REAL,
	CONFIG_DURATION,
	CONFIG_TEXT,
	CONFIG_SECRET,
	CONFIG_CHOICE,
	CONFIG_TEXTS,
	CONFIG_PAIRS,
	CONFIG_SECTION,
	CONFIG_SECTIONS,
	CONFIG_NODE,
	CONFIG_REFUSED,
	CONFIG_NEEDLESS,
};

#define CONFIG_MAX_NONE 1e15	/* of anything that is set by hand; of nanoseconds: 11 days */

struct config_texts {
	u32 count;
	const char *const *at;
};

struct config_pair {
	const char *key, *value;
};

struct config_pairs {
	u32 count;
	const struct config_pair *at;
};

struct config_sections {
	u32 count;
	void *at;			/* count structs of element_bytes */
};

struct config_field {
	const char *name;		/* NULL ends the table */
	enum config_type type;
	u32 offset;			/* of the member */
	bool required;			/* null and "" are as good as missing, unless there is a default */
	bool any_case;			/* older spellings: see above */
	bool extension;			/* TEXT: the id of an extension, which service.extensions must name */
	bool secret;			/* PAIRS: values are printed as [REDACTED] */
	bool commas;			/* TEXTS: one string with commas is how people write it */
	double min, max;		/* both 0: any; from CONFIG_MAX_NONE on nobody is told of max */
	const char *const *choices;	/* ended by NULL */
	const struct config_field *fields;	/* of SECTION, SECTIONS */
	u32 present;			/* SECTION: offset + 1 of a bool that tells whether the key is there; 0: none */
	u32 element_bytes;		/* SECTIONS */
	const void *element_defaults;	/* SECTIONS; NULL: zeros */
	const char *const *aliases;	/* other names, ended by NULL; a warning names the new one */
	const char *help;		/* one line, without a full stop */
};

#define FIELD(type, member) offsetof(type, member)
#define FIELD_PRESENT(type, member) (offsetof(type, member) + 1)

/*
 * Decodes a map (or null, or NULL) over the defaults that *options already holds.
 * Everything that is wrong is added to errors, under path; -EINVAL then. -ENOMEM.
 */
int config_decode(struct arena *arena, const struct config_node *node, const struct config_field *fields,
		  const char *path, void *options, struct config_errors *errors);

/* The option that a key means, by any of its names, or NULL. */
const struct config_field *config_find_field(const struct config_field *fields, const char *key);

#endif
