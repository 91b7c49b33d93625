// SPDX-License-Identifier: Apache-2.0
/*
 * The extension file_storage: a directory where exporters keep what waits to be sent (sending_queue::storage). What is
 * in it is described in pipeline/storage.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "pipeline/component.h"
#include "pipeline/storage.h"

struct options {
	const char *directory, *permissions;
	s64 timeout_ns, max_size;
	bool fsync, create_directory;
};

#define NO_COMPACTION "each record is a file, whose space is given back when it is sent"

static const struct config_field compaction_fields[] = {
	{ "on_start", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "on_rebound", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "directory", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "rebound_needed_threshold_mib", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "rebound_trigger_threshold_mib", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "max_transaction_size", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "check_interval", CONFIG_NEEDLESS, .help = NO_COMPACTION },
	{ "cleanup_on_start", CONFIG_NEEDLESS, .help = "what was left half-written is always removed" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "directory", CONFIG_TEXT, FIELD(struct options, directory), .help = "where; it belongs to one process" },
	{ "create_directory", CONFIG_BOOL, FIELD(struct options, create_directory),
	  .help = "make the directory, and those above it, if it is not there" },
	{ "directory_permissions", CONFIG_TEXT, FIELD(struct options, permissions),
	  .help = "of a directory that is made: octal digits" },
	{ "timeout", CONFIG_DURATION, FIELD(struct options, timeout_ns), .max = 3600e9,
	  .help = "how long to wait at the start for another process that has it open" },
	{ "max_size", CONFIG_INTEGER, FIELD(struct options, max_size), .max = 1e18,
	  .help = "bytes that each exporter may keep; 0: no limit" },
	{ "fsync", CONFIG_BOOL, FIELD(struct options, fsync),
	  .help = "wait for the disk, so that records survive a power failure; on unless it is turned off" },
	{ "compaction", CONFIG_SECTION, 0, .fields = compaction_fields, .help = NO_COMPACTION },
	{ "recreate", CONFIG_NEEDLESS, .help = "wick always starts; records that are damaged are removed and counted" },
	{ 0 },
};

static const struct options defaults = {
	.directory = "/var/lib/otelcol/file_storage", .permissions = "0750", .timeout_ns = 1000000000, .fsync = true,
};

static int parse_permissions(const char *text, mode_t *ret_mode)
{
	size_t digits = strspn(text, "01234567");

	if (!digits || text[digits] || strtoul(text, NULL, 8) > 0777)
		return -EINVAL;
	*ret_mode = (mode_t)strtoul(text, NULL, 8);
	return 0;
}

static void check(const void *arg, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *options = arg;
	mode_t mode;

	if (!*options->directory)
		config_error(errors, place, path, "directory is missing");
	if (parse_permissions(options->permissions, &mode) < 0)
		config_error(errors, place, path, "directory_permissions: %s is no octal number such as 0750",
			     options->permissions);
}

static int create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	*ret_self = (void *)options;	/* it has no state of its own */
	return 0;
}

/* With all that is above it. */
static int make_directory(const char *directory, mode_t mode)
{
	_cleanup_(freep) char *path = strdup(directory);

	if (!path)
		return -ENOMEM;
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(path, mode) < 0 && errno != EEXIST)
			return -errno;
		*slash = '/';
	}
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

static int start(void *self, struct buf *why)
{
	const struct options *options = self;
	struct stat st;
	mode_t mode = 0750;
	int r = 0;

	(void)parse_permissions(options->permissions, &mode);	/* was checked */
	if (options->create_directory)
		r = make_directory(options->directory, mode);
	if (r == 0 && stat(options->directory, &st) < 0)
		r = -errno;
	if (r == 0 && !S_ISDIR(st.st_mode))
		r = -ENOTDIR;
	if (r == 0 && access(options->directory, W_OK | X_OK) < 0)
		r = -errno;
	if (r < 0)
		buf_addf(why, "cannot use the directory %s: %s%s", options->directory, strerror(-r),
			 r == -ENOENT ? "; make it, or set create_directory: true" : "");
	return r;
}

static int open_storage(void *self, const char *owner, struct storage **ret_storage, struct buf *why)
{
	const struct options *options = self;

	return storage_open(options->directory, owner,
			    &(struct storage_options){ .bytes_max = (u64)options->max_size, .sync = options->fsync,
						       .lock_timeout_ns = options->timeout_ns },
			    ret_storage, why);
}

static void nothing_to_free(void *self)
{
}

static const struct storage_ops storage = { open_storage };

const struct component_ops extension_file_storage = {
	.type = "file_storage",
	.help = "keeps sending queues on disk",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = create,
	.start = start,
	.free = nothing_to_free,
	.storage = &storage,
};
