/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of a container by asking its engine: its name, its image, labels; as attributes. Texts are those of
 * whoever started it: they are cut and cleaned here. A plain value, without state.
 */
#ifndef PROC_CONTAINER_ABOUT_H
#define PROC_CONTAINER_ABOUT_H

#include "base/str.h"
#include "base/types.h"

#define CONTAINER_NAME_BYTES 127
#define CONTAINER_VALUE_BYTES 255
#define CONTAINER_TEXT_BYTES 3072
#define CONTAINER_LABELS_MAX 16		/* that are wanted */

/* The labels that become container.label.KEY. */
struct container_labels {
	const char *const *at;
	u32 count;
};

struct container_about {
	char name[CONTAINER_NAME_BYTES + 1];		/* "" if it has none */
	char service[CONTAINER_NAME_BYTES + 1];		/* what it is a part of: by compose, else its name */
	u32 bytes;
	char text[CONTAINER_TEXT_BYTES];		/* KEY=value, each ended by NUL */
};

/* The first that is said counts. */
void container_about_put_name(struct container_about *about, struct str name);
void container_about_put_image(struct container_about *about, struct str image);

/* Those of Kubernetes and compose mean something, whether they are wanted or not. */
void container_about_put_label(struct container_about *about, const struct container_labels *wanted, struct str key,
			       struct str value);

/* What an attribute says, borrowed; "" if there is none of that key. */
const char *container_about_value(const struct container_about *about, const char *key);

/* registry/name:tag@digest. */
void container_image_split(struct str image, struct str *ret_name, struct str *ret_tag, struct str *ret_digest);

#endif
