// SPDX-License-Identifier: Apache-2.0
#include "lang/hotspot/signature.h"

#include <stdbool.h>
#include <string.h>

#include "base/types.h"

#define DIMENSIONS_MAX 255	/* of an array (JVMS 4.3.2) */

struct text {
	char *at;
	size_t room;		/* with the NUL */
};

static void add(struct text *text, const char *from, size_t bytes)
{
	for (size_t i = 0; i < bytes && text->room > 1; i++, text->room--)
		*text->at++ = from[i] == '/' ? '.' : from[i];
	*text->at = '\0';
}

static const char *primitive(char letter)
{
	switch (letter) {
	case 'B': return "byte";
	case 'C': return "char";
	case 'D': return "double";
	case 'F': return "float";
	case 'I': return "int";
	case 'J': return "long";
	case 'S': return "short";
	case 'Z': return "boolean";
	default: return NULL;
	}
}

/* One type; what comes behind it, or NULL if it is none. */
static const char *add_type(struct text *text, const char *at)
{
	u32 dimensions = 0;
	const char *name;

	for (; *at == '[' && dimensions <= DIMENSIONS_MAX; at++)
		dimensions++;
	if (*at == 'L') {
		const char *end = strchr(at, ';');

		if (!end)
			return NULL;
		add(text, at + 1, (size_t)(end - at - 1));
		at = end + 1;
	} else {
		name = primitive(*at++);
		if (!name)
			return NULL;
		add(text, name, strlen(name));
	}
	while (dimensions--)
		add(text, "[]", 2);
	return at;
}

void signature_add(const char *descriptor, char *name, size_t name_bytes)
{
	size_t before = strlen(name);
	struct text text = { .at = name + before, .room = name_bytes - before };
	const char *at = descriptor;
	bool is_first = true;

	if (*at++ != '(')
		return;
	add(&text, "(", 1);
	for (; at && *at && *at != ')'; is_first = false) {
		if (!is_first)
			add(&text, ", ", 2);
		at = add_type(&text, at);
	}
	if (!at || !*at)
		name[before] = '\0';
	else
		add(&text, ")", 1);
}
