/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ids of components and pipelines: type[/name].
 *
 *	type	^[a-zA-Z][0-9a-zA-Z_]{0,62}$
 *	name	1 to 1024 bytes of UTF-8 without separators, control characters and symbols
 *
 * Blanks around both are not part of them.
 */
#ifndef PIPELINE_COMPONENT_ID_H
#define PIPELINE_COMPONENT_ID_H

struct arena;

struct component_id {
	const char *whole;	/* "otlp/backend" */
	const char *type;	/* "otlp" */
	const char *name;	/* "backend", or "" */
};

/* Copies into the arena. -EINVAL: *ret_why says what is wrong, a literal; -ENOMEM. */
int component_id_parse(struct arena *arena, const char *text, struct component_id *ret_id, const char **ret_why);

#endif
