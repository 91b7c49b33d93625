// SPDX-License-Identifier: Apache-2.0
#include "proc/container_about.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clean_text.h"

/* Labels that engines and their users have agreed on. */
static const struct {
	const char *label, *attribute;
} known[] = {
	{ "io.kubernetes.container.name", "k8s.container.name" },
	{ "io.kubernetes.pod.name", "k8s.pod.name" },
	{ "io.kubernetes.pod.namespace", "k8s.namespace.name" },
};

static bool has(const struct container_about *a, const char *entry, size_t key_len)
{
	for (u32 at = 0; at < a->bytes; at += (u32)strlen(a->text + at) + 1)
		if (!strncmp(a->text + at, entry, key_len + 1))
			return true;
	return false;
}

/* What does not fit is left out whole. */
static void put(struct container_about *a, const char *key, struct str value)
{
	char entry[CONTAINER_VALUE_BYTES + 128];
	int value_len = (int)(value.len < CONTAINER_VALUE_BYTES ? value.len : CONTAINER_VALUE_BYTES);
	int len = snprintf(entry, sizeof(entry), "%s=%.*s", key, value_len, value.len ? value.at : "");
	size_t key_len = strlen(key);

	if (len < 0 || (size_t)len >= sizeof(entry) || (size_t)len == key_len + 1)
		return;
	clean_text(entry + key_len + 1);
	if (has(a, entry, key_len) || a->bytes + strlen(entry) + 1 > sizeof(a->text))
		return;
	memcpy(a->text + a->bytes, entry, strlen(entry) + 1);
	a->bytes += (u32)strlen(entry) + 1;
}

static void put_text(char to[CONTAINER_NAME_BYTES + 1], struct str text)
{
	if (*to || !text.len)
		return;
	(void)snprintf(to, CONTAINER_NAME_BYTES + 1, "%.*s", (int)text.len, text.at);
	clean_text(to);
}

void container_about_put_name(struct container_about *a, struct str name)
{
	put(a, "container.name", name);
	put_text(a->name, name);
}

void container_about_put_image(struct container_about *a, struct str image)
{
	struct str name, tag, digest;

	if (str_starts(image, "sha256:"))	/* it has no name any more */
		return;
	container_image_split(image, &name, &tag, &digest);
	put(a, "container.image.name", name);
	put(a, "container.image.tags", tag);
}

void container_about_put_label(struct container_about *a, const struct container_labels *wanted, struct str key,
			       struct str value)
{
	char attribute[128];

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (str_is(key, known[i].label))
			put(a, known[i].attribute, value);
	if (str_is(key, "com.docker.compose.service") || str_is(key, "io.kubernetes.container.name"))
		put_text(a->service, value);
	if (str_is(key, "nerdctl/name"))
		container_about_put_name(a, value);
	for (u32 i = 0; i < wanted->count; i++) {
		if (!str_is(key, wanted->at[i]))
			continue;
		(void)snprintf(attribute, sizeof(attribute), "container.label.%s", wanted->at[i]);
		put(a, attribute, value);
	}
}

void container_image_split(struct str image, struct str *ret_name, struct str *ret_tag, struct str *ret_digest)
{
	struct str none = { "", 0 }, whole = image.len ? image : none;
	const char *at = memchr(whole.at, '@', whole.len);
	struct str name = { whole.at, at ? (u32)(at - whole.at) : whole.len };
	const char *slash = memrchr(name.at, '/', name.len);
	const char *from = slash ? slash : name.at;
	const char *colon = memchr(from, ':', name.len - (u32)(from - name.at));

	*ret_digest = at ? (struct str){ at + 1, whole.len - (u32)(at + 1 - whole.at) } : none;
	*ret_tag = colon ? (struct str){ colon + 1, name.len - (u32)(colon + 1 - name.at) } : none;
	*ret_name = colon ? (struct str){ name.at, (u32)(colon - name.at) } : name;
}

const char *container_about_value(const struct container_about *about, const char *key)
{
	size_t len = strlen(key);

	for (u32 at = 0; at < about->bytes; at += (u32)strlen(about->text + at) + 1)
		if (!strncmp(about->text + at, key, len) && about->text[at + len] == '=')
			return about->text + at + len + 1;
	return "";
}
