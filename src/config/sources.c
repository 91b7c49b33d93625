// SPDX-License-Identifier: Apache-2.0
#include "config/sources.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/io.h"

#define SHOWN_MAX 100

struct reading {
	const struct config_providers *providers;
	struct arena *arena;
	struct config_place place;
	struct config_errors *errors;
	struct buf *text;
	struct config_source source;
};

#define refuse(r, ...) ({ config_error((r)->errors, (r)->place, "", __VA_ARGS__); -EINVAL; })

/* ---- This machine -------------------------------------------------------------------- */

static const char *local_variable(void *arg, const char *name)
{
	return getenv(name);
}

static int local_read_file(void *arg, const char *path, struct buf *ret_text)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return -EISDIR;
	return io_read_whole(fd, ret_text);
}

/* Not what editors leave behind, nor what a ConfigMap's volume keeps beside its files. */
static int is_config_file(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return *entry->d_name != '.' && ((len > 5 && !strcmp(entry->d_name + len - 5, ".yaml")) ||
					 (len > 4 && !strcmp(entry->d_name + len - 4, ".yml")));
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int local_list(void *arg, const char *path, struct buf *ret_names)
{
	struct dirent **entries = NULL;
	int count = scandir(path, &entries, is_config_file, by_bytes);

	if (count < 0)
		return errno == ENOMEM ? -ENOMEM : -ENOTDIR;
	for (int i = 0; i < count; i++) {
		buf_add(ret_names, entries[i]->d_name, strlen(entries[i]->d_name) + 1);
		free(entries[i]);
	}
	free(entries);
	return buf_err(ret_names);
}

const struct config_providers local_providers = { local_variable, local_read_file, NULL, local_list };

/* ---- Names ------------------------------------------------------------------------------ */

/* [A-Za-z][A-Za-z0-9+.-]+ before the colon: two letters at least, a drive is none. */
static size_t scheme_len(const char *uri)
{
	size_t len = 1;

	if (!isalpha((unsigned char)*uri))
		return 0;
	while (isalnum((unsigned char)uri[len]) || (uri[len] && strchr("+.-", uri[len])))
		len++;
	return len >= 2 && uri[len] == ':' ? len : 0;
}

bool source_has_scheme(const char *uri)
{
	return scheme_len(uri) > 0;
}

static size_t variable_len(const char *name)
{
	size_t len = 0;

	while (isalpha((unsigned char)name[len]) || name[len] == '_' || (len && isdigit((unsigned char)name[len])))
		len++;
	return len;
}

static int set_name(struct reading *r, const char *scheme, const char *rest, size_t len)
{
	char name[SHOWN_MAX * 4];

	snprintf(name, sizeof(name), "%s%.*s", scheme, (int)len, rest);
	r->source.name = arena_strndup(r->arena, name, strlen(name));
	return r->source.name ? 0 : -ENOMEM;
}

/* ---- One scheme each ------------------------------------------------------------------- */

/* NAME or NAME:-default. The default is for a variable that is not set, not for an empty one. */
static int read_variable(struct reading *r, const char *rest)
{
	size_t len = variable_len(rest);
	const char *value;
	char name[SHOWN_MAX];

	if (!len || (rest[len] && strncmp(rest + len, ":-", 2)) || len >= sizeof(name))
		return refuse(r, "%.*s is not the name of an environment variable: letters, digits and _ only",
			      SHOWN_MAX, rest);
	snprintf(name, sizeof(name), "%.*s", (int)len, rest);
	value = r->providers->variable(r->providers->arg, name);
	if (!value && rest[len])
		value = rest + len + 2;
	r->source.unset = !value;
	if (value)
		buf_add(r->text, value, strlen(value));
	return set_name(r, "env:", rest, len);
}

static int read_path(struct reading *r, const char *path)
{
	int err;

	if (!*path)
		return refuse(r, "file: needs a path");
	err = r->providers->read_file(r->providers->arg, path, r->text);
	if (err == -ENOMEM)
		return err;
	if (err == -E2BIG)
		return refuse(r, "%s is larger than %u MiB", path, CONFIG_BYTES_MAX >> 20);
	if (err < 0)
		return refuse(r, "cannot read %s: %s", path, strerror(-err));
	return set_name(r, "", path, strlen(path));
}

static int read_by_scheme(struct reading *r, const char *uri)
{
	size_t len = scheme_len(uri), variable = variable_len(uri);
	const char *rest = uri + len + 1;

	if (len == 3 && !strncmp(uri, "env", len))
		return read_variable(r, rest);
	if (len == 4 && !strncmp(uri, "file", len))
		return read_path(r, rest);
	if (len == 4 && !strncmp(uri, "yaml", len)) {
		buf_add(r->text, rest, strlen(rest));
		return set_name(r, "yaml:", "", 0);
	}
	/* Without a scheme it is a variable; X:-default too. */
	if (!strchr(uri, ':') || (variable && !strncmp(uri + variable, ":-", 2)))
		return read_variable(r, uri);
	if (!strncmp(uri, "http:", 5) || !strncmp(uri, "https:", 6))
		return refuse(r, "%.*s: wick does not fetch its configuration; download it and name the file",
			      SHOWN_MAX, uri);
	return refuse(r,
		      "%.*s: there is no such source; use env:, file: or yaml:, or $${ for the characters themselves",
		      SHOWN_MAX, uri);
}

int source_read(const struct config_providers *providers, struct arena *arena, const char *uri,
		struct config_place place, struct config_errors *errors, struct buf *text,
		struct config_source *ret_source)
{
	struct reading reading = { providers, arena, place, errors, text, { 0 } };
	int r = read_by_scheme(&reading, uri);

	if (r < 0)
		return r;
	if (buf_err(text) == -E2BIG)
		return refuse(&reading, "%s is larger than %u MiB", reading.source.name, CONFIG_BYTES_MAX >> 20);
	if (buf_err(text) < 0)
		return buf_err(text);
	*ret_source = reading.source;
	return 0;
}
