// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "profile/profile.h"
#include "profile/table.h"
#include "wire/views/folded.h"
#include "wire/format.h"

#define KERNEL_MARK "_[k]"

struct decoder {
	struct profile *profile;
	struct profile_set *set;
	u32 *frames;
	u32 frame_count, frame_cap;
};

static void decoder_done(struct decoder *d)
{
	free(d->frames);
}

/* Splits off the number at a line's end, which may be negative; false if there is none or it is too large. */
static bool split_count(struct str *line, s64 *ret_count)
{
	const char *end = line->at + line->len, *digits = end, *start;
	s64 count = 0;
	bool minus;

	while (digits > line->at && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	minus = digits > line->at && digits < end && digits[-1] == '-';
	start = digits - minus;
	if (digits == end || start == line->at || start[-1] != ' ')
		return false;
	for (const char *at = digits; at < end; at++)
		if (__builtin_mul_overflow(count, 10, &count) ||
		    __builtin_add_overflow(count, minus ? '0' - *at : *at - '0', &count))
			return false;
	line->len = (u32)(start - 1 - line->at);
	*ret_count = count;
	return line->len > 0;
}

static u32 add_frame(struct profile *p, struct str name)
{
	const size_t mark = sizeof(KERNEL_MARK) - 1;
	struct profile_function function = { 0 };
	struct profile_line line = { 0 };
	struct profile_location location = { .line_count = 1, .lines = &line };
	u32 kernel;

	if (name.len > mark && !memcmp(name.at + name.len - mark, KERNEL_MARK, mark)) {
		name.len -= mark;
		kernel = profile_add_attribute_string(p, "profile.frame.type", "kernel");
		location.attributes = (struct indices){ &kernel, 1 };
	}
	function.name = name.len ? profile_add_string(p, name.at, name.len) : profile_add_cstring(p, "[unknown]");
	line.function = profile_add_function(p, &function);
	return profile_add_location(p, &location);
}

/* The line's frames, outermost first, into d->frames. */
static int split_frames(struct decoder *d, struct str line)
{
	const char *at = line.at, *end = line.at + line.len;

	d->frame_count = 0;
	while (at <= end) {
		const char *semicolon = memchr(at, ';', (size_t)(end - at));
		const char *stop = semicolon ? semicolon : end;
		int r = array_grow(&d->frames, &d->frame_cap, d->frame_count, PROFILE_TABLE_MAX,
				   sizeof(*d->frames));

		if (r < 0)
			return r;
		d->frames[d->frame_count++] = add_frame(d->profile, (struct str){ at, (u32)(stop - at) });
		at = stop + 1;
	}
	return profile_err(d->profile);
}

static int read_line(struct decoder *d, struct str line)
{
	struct profile_sample *sample;
	s64 count;
	int r;

	if (line.len && line.at[line.len - 1] == '\r')
		line.len--;
	if (!line.len || line.at[0] == '#')
		return 0;
	if (!split_count(&line, &count))
		return -EBADMSG;
	r = split_frames(d, line);
	if (r < 0)
		return r;
	/* Our stacks have the leaf first. */
	for (u32 i = 0, k = d->frame_count - 1; i < k; i++, k--) {
		u32 frame = d->frames[i];

		d->frames[i] = d->frames[k];
		d->frames[k] = frame;
	}
	sample = profile_add_sample(d->profile, d->set);
	if (!sample)
		return profile_err(d->profile);
	sample->stack = profile_add_stack(d->profile, d->frames, d->frame_count);
	sample->values = profile_copy(d->profile, &count, sizeof(count));
	sample->value_count = 1;
	return profile_err(d->profile);
}

static int read_lines(struct decoder *d, const char *at, size_t bytes)
{
	const char *end = bytes ? at + bytes : at;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *stop = newline ? newline : end;
		int r = read_line(d, (struct str){ at, (u32)(stop - at) });

		if (r < 0)
			return r;
		at = stop + 1;
	}
	return 0;
}

int folded_decode(const void *at, size_t bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	_cleanup_(decoder_done) struct decoder d = { .profile = profile };
	struct profile_resource *resource = profile ? profile_add_resource(profile, NULL, 0) : NULL;
	struct profile_scope *scope = resource ? profile_add_scope(profile, resource) : NULL;
	int r;

	d.set = scope ? profile_add_set(profile, scope) : NULL;
	if (!d.set)
		return -ENOMEM;
	if (bytes > INT32_MAX)
		return -E2BIG;
	d.set->sample_type.type = profile_add_cstring(profile, "samples");
	d.set->sample_type.unit = profile_add_cstring(profile, "count");
	r = read_lines(&d, at, bytes);
	if (r < 0)
		return r;
	*ret_profile = TAKE(profile);
	return 0;
}

/* Text whose first line with something on it ends in a number. */
static bool folded_sniff(const void *data, size_t bytes)
{
	const char *at = data, *end = bytes ? at + bytes : at;

	while (at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct str line = { at, (u32)((newline ? newline : end) - at) };
		s64 count;

		for (u32 i = 0; i < line.len; i++)
			if ((unsigned char)line.at[i] < 0x20 && line.at[i] != '\t' && line.at[i] != '\r')
				return false;
		if (line.len && line.at[line.len - 1] == '\r')
			line.len--;
		if (line.len && line.at[0] != '#')
			return split_count(&line, &count);
		at += (newline ? newline : end) - at + 1;
	}
	return false;
}

const struct format_ops format_folded = {
	.name = "folded",
	.help = "folded stacks, one a line, for flame graphs",
	.content_type = "text/plain; charset=utf-8",
	.suffixes = (const char *const[]){ ".folded", ".txt", NULL },
	.sniff = folded_sniff,
	.decode = folded_decode,
	.encode = folded_encode,
};
