// SPDX-License-Identifier: Apache-2.0
/*
 * A configuration from hostile text, with variables and a file that are hostile
 * too. What loads is printed, and what was printed must load as the same.
 *
 *	text of --config \xff text of ${env:A} \xff text of ${file:f}
 */
#include "config/config.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "config/print.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	char *variable, *file, *config;
};

static const char *variable(void *arg, const char *name)
{
	return !strcmp(name, "A") ? ((struct input *)arg)->variable : NULL;
}

static int read_file(void *arg, const char *path, struct buf *ret_text)
{
	struct input *in = arg;
	const char *text = !strcmp(path, "f") ? in->file : !strcmp(path, "config") ? in->config : NULL;

	if (text)
		buf_add(ret_text, text, strlen(text));
	return text ? 0 : -ENOENT;
}

static struct config *load(const struct config_providers *providers, const char *set)
{
	const char *source = "config";
	struct config_request request = {
		.sources = &source, .source_count = 1, .sets = &set, .set_count = set ? 1 : 0, .providers = providers,
	};
	struct config *config = NULL;
	struct config_errors errors;

	config_errors_init(&errors);
	if (config_load(&request, &config, &errors) == -EINVAL && !errors.error_count)
		__builtin_trap();
	config_errors_done(&errors);
	return config;
}

static void print(const struct config *config, enum print_format format, struct buf *out)
{
	buf_init(out, 64 << 20);
	config_print(config->root, &(struct print_options){ .format = format, .unredacted = true }, out);
	buf_add(out, "", 1);
}

static struct config *load_text(char *text)
{
	struct input in = { "", "", text };
	struct config_providers providers = { variable, read_file, &in };

	return load(&providers, NULL);
}

/* Keys with :: that an expansion brought are split when they are read again: the second time nothing changes. */
static void check_again(const struct config *config, enum print_format format)
{
	_cleanup_(buf_done) struct buf first, second = { 0 }, third = { 0 };
	_cleanup_(config_freep) struct config *again = NULL, *once_more = NULL;

	print(config, format, &first);
	if (buf_err(&first) || first.len > CONFIG_BYTES_MAX / 2)
		return;
	again = load_text(first.data);
	if (!again && !strstr(first.data, "::"))
		__builtin_trap();
	if (!again)
		return;		/* split, it is nested too deep */
	print(again, format, &second);
	once_more = load_text(second.data);
	if (!once_more)
		__builtin_trap();
	print(once_more, format, &third);
	if (second.len != third.len || memcmp(second.data, third.data, second.len))
		__builtin_trap();
}

static char *part(const uint8_t **data, size_t *size)
{
	const uint8_t *end = memchr(*data, 0xff, *size);
	size_t len = end ? (size_t)(end - *data) : *size;
	char *text = strndup((const char *)*data, len);

	*data += end ? len + 1 : len;
	*size -= end ? len + 1 : len;
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in;
	struct config_providers providers = { variable, read_file, &in };
	_cleanup_(config_freep) struct config *config = NULL;

	in.config = part(&data, &size);
	in.variable = part(&data, &size);
	in.file = part(&data, &size);
	config = load(&providers, size ? "x.y=${env:A}" : NULL);
	if (config) {
		check_again(config, PRINT_YAML);
		check_again(config, PRINT_JSON);
	}
	free(in.config);
	free(in.variable);
	free(in.file);
	return 0;
}
