// SPDX-License-Identifier: Apache-2.0
/* Profiles into files, as OTLP: a line of JSON each, or length-framed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "exporters/filegroup.h"
#include "exporters/filewriter.h"
#include "pipeline/batch.h"
#include "pipeline/component.h"
#include "pipeline/sender.h"
#include "profile/any.h"
#include "profile/profile.h"
#include "profile/split.h"
#include "wire/compression.h"
#include "wire/otlp/otlp.h"
#include "wire/otlp/otlp_json.h"

#define MEGABYTE (1024 * 1024)
#define DEFAULT_MEGABYTES 100

/* JSON is several times as long as what it says. */
#define RECORD_MAX (8 * (size_t)BATCH_BYTES_MAX)

enum { FORMAT_JSON, FORMAT_PROTO };
static const char *const formats_known[] = { "json", "proto", NULL };
static const char *const compressions[] = { "", "zstd", NULL };

struct options {
	const char *path;
	bool append;
	int format, compression;
	s64 level, flush_interval_ns;
	bool create_directory;
	const char *directory_permissions;
	bool has_rotation;
	struct {
		s64 max_megabytes, max_days, max_backups;
		bool localtime;
	} rotation;
	struct {
		bool enabled;
		const char *resource_attribute;
		s64 max_open_files;
	} group_by;
	struct sender_options sender;
};

struct exporter {
	const struct options *options;
	struct filegroup_options group_options;
	struct filewriter *writer;	/* unless group_by */
	struct filegroup *group;
};

static const struct options defaults = {
	.path = "", .directory_permissions = "", .flush_interval_ns = 1000000000, .rotation = { .max_backups = 100 },
	.group_by = { .resource_attribute = "fileexporter.path_segment", .max_open_files = 100 },
	.sender = SENDER_DEFAULTS(0),
};

/* ---- Options -------------------------------------------------------------------- */

#define ROTATION(member) FIELD(struct options, rotation.member)
static const struct config_field rotation_fields[] = {
	{ "max_megabytes", CONFIG_INTEGER, ROTATION(max_megabytes), .min = 0, .max = 1e9,
	  .help = "size at which a file is rotated; 0: 100" },
	{ "max_days", CONFIG_INTEGER, ROTATION(max_days), .min = 0, .max = 1e6,
	  .help = "days after which rotated files are removed; 0: never" },
	{ "max_backups", CONFIG_INTEGER, ROTATION(max_backups), .min = 0, .max = 1e9,
	  .help = "rotated files that are kept; 0: all" },
	{ "localtime", CONFIG_BOOL, ROTATION(localtime), .help = "name rotated files by local time, not UTC" },
	{ 0 },
};

#define GROUP_BY(member) FIELD(struct options, group_by.member)
static const struct config_field group_by_fields[] = {
	{ "enabled", CONFIG_BOOL, GROUP_BY(enabled), .help = "write a file for each value of a resource attribute" },
	{ "resource_attribute", CONFIG_TEXT, GROUP_BY(resource_attribute),
	  .help = "whose value takes the place of * in path; resources without it are dropped" },
	{ "max_open_files", CONFIG_INTEGER, GROUP_BY(max_open_files), .min = 1, .max = 10000,
	  .help = "files that are kept open" },
	{ 0 },
};

static const struct config_field compression_fields[] = {
	{ "level", CONFIG_INTEGER, FIELD(struct options, level), .min = 0, .max = 22,
	  .help = "of zstd, 1 to 22; 0: 3" },
	{ 0 },
};

static const struct config_field fields[] = {
	{ "path", CONFIG_TEXT, FIELD(struct options, path), .required = true, .help = "of the file" },
	{ "append", CONFIG_BOOL, FIELD(struct options, append),
	  .help = "go on with a file that is there; not with rotation" },
	{ "format", CONFIG_CHOICE, FIELD(struct options, format), .choices = formats_known,
	  .help = "a line of JSON, or protobuf after four bytes of length, big-endian" },
	{ "compression", CONFIG_CHOICE, FIELD(struct options, compression), .choices = compressions,
	  .help = "zstd: each message by itself, length-framed also if it is JSON" },
	{ "compression_params", CONFIG_SECTION, 0, .fields = compression_fields, .help = "how hard it is compressed" },
	{ "flush_interval", CONFIG_DURATION, FIELD(struct options, flush_interval_ns), .min = 0, .max = INFINITY,
	  .help = "how long a profile may wait to be written; wick writes at once" },
	{ "create_directory", CONFIG_BOOL, FIELD(struct options, create_directory),
	  .help = "make the directory of path" },
	{ "directory_permissions", CONFIG_TEXT, FIELD(struct options, directory_permissions),
	  .help = "of directories that are made, octal; 0755" },
	{ "rotation", CONFIG_SECTION, 0, .fields = rotation_fields,
	  .present = FIELD_PRESENT(struct options, has_rotation), .help = "start a new file when one is large" },
	{ "group_by", CONFIG_SECTION, 0, .fields = group_by_fields, .help = "several files" },
	{ "encoding", CONFIG_REFUSED, .help = "there are no encoding extensions; use format: json or proto" },
	SENDER_FIELDS(struct options, sender),
	{ 0 },
};

static bool permissions_of(const char *text, mode_t *ret_mode)
{
	unsigned long mode = 0755;
	char *end = "";

	if (*text)
		mode = strtoul(text, &end, 8);
	*ret_mode = (mode_t)mode;
	return !*end && mode <= 0777 && *text != '-';
}

static void check(const void *options, struct config_place place, const char *path, struct config_errors *errors)
{
	const struct options *o = options;
	const char *star = strchr(o->path, '*');
	mode_t mode;

	if (o->append && o->has_rotation)
		config_error(errors, place, path, "append and rotation enabled at the same time is not supported");
	if (!permissions_of(o->directory_permissions, &mode))
		config_error(errors, place, path, "directory_permissions is %s; write an octal number like \"0755\"",
			     o->directory_permissions);
	if (*o->directory_permissions && !o->create_directory)
		config_error(errors, place, path, "directory_permissions requires create_directory to be true");
	if (o->group_by.enabled && (!star || star == o->path || strchr(star + 1, '*')))
		config_error(errors, place, path, "group_by needs a path with exactly one *, not at its start");
	if (o->group_by.enabled && !*o->group_by.resource_attribute)
		config_error(errors, place, path, "group_by needs a resource_attribute");
}

/* ---- Records ---------------------------------------------------------------------- */

static bool has_lines(const struct options *options)
{
	return options->format == FORMAT_JSON && !options->compression;
}

/* Our encoder ends its text with a line end, which is not a part of the record. */
static int encode(const struct options *options, const struct profile *profile, struct buf *out)
{
	int r;

	if (options->format == FORMAT_PROTO)
		return otlp_encode(profile, out);
	r = otlp_json_encode(profile, out);
	while (r == 0 && out->len && out->data[out->len - 1] == '\n')
		out->len--;
	return r;
}

static int write_packed(const struct options *options, struct filewriter *writer, const void *at, size_t bytes)
{
	_cleanup_(buf_done) struct buf packed;
	int r;

	buf_init(&packed, RECORD_MAX);
	if (!options->compression)
		return filewriter_write(writer, at, bytes, clock_ns(CLOCK_REALTIME));
	r = compression_pack_level(COMPRESSION_ZSTD, (int)options->level, at, bytes, &packed);
	return r < 0 ? r : filewriter_write(writer, packed.data, packed.len, clock_ns(CLOCK_REALTIME));
}

static int write_profile(const struct options *options, struct filewriter *writer, const struct profile *profile)
{
	_cleanup_(buf_done) struct buf record;
	int r;

	buf_init(&record, RECORD_MAX);
	r = encode(options, profile, &record);
	return r < 0 ? r : write_packed(options, writer, record.data, record.len);
}

static int write_batch(struct exporter *exporter, struct batch *batch)
{
	const struct profile *profile;
	const void *at;
	size_t bytes;
	int r;

	if (exporter->options->format == FORMAT_PROTO) {
		r = batch_bytes(batch, &at, &bytes);
		return r < 0 ? r : write_packed(exporter->options, exporter->writer, at, bytes);
	}
	r = batch_profile(batch, &profile);
	return r < 0 ? r : write_profile(exporter->options, exporter->writer, profile);
}

/* ---- Several files ------------------------------------------------------------------ */

struct grouping {
	struct exporter *exporter;
	u64 rejected;
	u32 written;
	int error;
};

static bool group_key(void *arg, const struct profile_resource *resource, struct str *ret_key)
{
	struct grouping *grouping = arg;
	const char *attribute = grouping->exporter->options->group_by.resource_attribute;

	*ret_key = any_text(keyvalue_find(resource->attributes, resource->attribute_count, attribute));
	if (!ret_key->len)
		grouping->rejected += profile_resource_samples(resource);
	return ret_key->len;
}

/* With the rows of the tables that they refer to, and no others. */
static int write_part(struct exporter *exporter, const struct profile *part, struct filewriter *writer)
{
	_cleanup_(profile_freep) struct profile *own = NULL;
	int r = split_copy(part, &own);

	return r < 0 ? r : write_profile(exporter->options, writer, own);
}

/* One that fails does not keep the others from being written. */
static int write_group(void *arg, struct str value, const struct profile *part)
{
	struct grouping *grouping = arg;
	_cleanup_(buf_done) struct buf why;
	struct filewriter *writer;
	int r;

	buf_init(&why, 1024);
	r = filegroup_get(grouping->exporter->group, value, &writer, &why);
	if (r == 0)
		r = write_part(grouping->exporter, part, writer);
	if (r == 0)
		grouping->written++;
	else if (r == -EINVAL)
		grouping->rejected += profile_samples(part);
	else
		grouping->error = r;
	return 0;
}

static int write_all_groups(struct exporter *exporter, struct batch *batch, struct send_result *ret_result)
{
	static const struct split_ops by_value = { group_key, write_group };
	struct grouping grouping = { .exporter = exporter };
	const struct profile *profile;
	int r = batch_profile(batch, &profile);

	if (r == 0)
		r = profile_split(profile, &by_value, &grouping);
	ret_result->rejected = grouping.rejected;
	if (grouping.rejected)
		(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "resources without %s were dropped",
			       exporter->options->group_by.resource_attribute);
	/* What some files have must not go there twice. */
	if (grouping.error && grouping.written)
		ret_result->outcome = SEND_PERMANENT;
	return r < 0 ? r : grouping.error;
}

/* ---- Sending -------------------------------------------------------------------------- */

/* A disk that is full now may not be later; a batch that cannot be encoded never can. */
static bool may_pass(int error)
{
	return error != -E2BIG && error != -EBADMSG && error != -EPIPE;
}

static void send_file(void *self, struct batch *batch, struct send_result *ret_result)
{
	struct exporter *exporter = self;
	int r;

	ret_result->outcome = SEND_OK;
	r = exporter->group ? write_all_groups(exporter, batch, ret_result) : write_batch(exporter, batch);
	if (r == 0)
		return;
	if (ret_result->outcome == SEND_OK)
		ret_result->outcome = may_pass(r) ? SEND_RETRY : SEND_PERMANENT;
	(void)snprintf(ret_result->reason, sizeof(ret_result->reason), "cannot write to %s: %s",
		       exporter->options->path, strerror(-r));
}

static const struct sender_ops sending = { .send = send_file };

/* ---- Life ------------------------------------------------------------------------------ */

static void exporter_free(void *self)
{
	struct exporter *exporter = self;

	if (!exporter)
		return;
	filewriter_free(exporter->writer);
	filegroup_free(exporter->group);
	free(exporter);
}

static int exporter_create(const struct component_setup *setup, const void *options, void **ret_self, struct buf *why)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	const struct options *o = options;

	if (!exporter)
		return -ENOMEM;
	exporter->options = o;
	exporter->group_options = (struct filegroup_options){
		.pattern = o->path,
		.max_open_files = (u32)o->group_by.max_open_files,
		.file = {
			.lines = has_lines(o), .append = o->append, .rotate = o->has_rotation,
			.max_bytes = (u64)(o->rotation.max_megabytes ? o->rotation.max_megabytes : DEFAULT_MEGABYTES) *
				     MEGABYTE,
			.max_days = (u32)o->rotation.max_days, .max_backups = (u32)o->rotation.max_backups,
			.local_time = o->rotation.localtime, .record_max = RECORD_MAX,
		},
	};
	(void)permissions_of(o->directory_permissions, &exporter->group_options.directory_mode);
	*ret_self = exporter;
	return 0;
}

static int open_files(void *self, struct buf *why)
{
	struct exporter *exporter = self;
	const struct options *options = exporter->options;
	int r = 0;

	if (options->group_by.enabled) {
		exporter->group = filegroup_new(&exporter->group_options);
		return exporter->group ? 0 : -ENOMEM;
	}
	if (options->create_directory)
		r = filegroup_make_directories(options->path, exporter->group_options.directory_mode);
	if (r < 0) {
		buf_addf(why, "cannot make the directory of %s: %s", options->path, strerror(-r));
		return r;
	}
	return filewriter_open(options->path, &exporter->group_options.file, &exporter->writer, why);
}

const struct component_ops exporter_file = {
	.type = "file",
	.help = "writes profiles into files, as OTLP in JSON or protobuf",
	.fields = fields,
	.options_bytes = sizeof(struct options),
	.defaults = &defaults,
	.check = check,
	.create = exporter_create,
	.start = open_files,
	EXPORTER_SENDS(sending, struct options, sender),
	.free = exporter_free,
	.alone = true,
};
