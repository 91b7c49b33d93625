// SPDX-License-Identifier: Apache-2.0
/* What the text exporters print, against test/golden/text/: UPDATE=1 writes those anew. */
#include <errno.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "exporters/customprofiles_text.h"
#include "exporters/debug_text.h"
#include "exporters/textout.h"
#include "profile/dump_test.h"
#include "test.h"
#include "wire/otlp/otlp_json.h"

#define BYTES_MAX ((size_t)64 << 20)
#define GOLDEN "test/golden/text/"

static void read_file(const char *name, struct buf *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	file = fopen(path, "re");
	if (!file)
		FAIL("cannot open %s", path);
	buf_init(text, BYTES_MAX);
	while (!feof(file) && !buf_reserve(text, 4096))
		text->len += fread(text->data + text->len, 1, 4096, file);
	fclose(file);
	buf_add(text, "", 1);
	EQ(buf_err(text), 0);
}

static struct profile *golden_profile(void)
{
	struct profile *profile = NULL;
	struct buf text;

	read_file("profile.json", &text);
	EQ(otlp_json_decode(text.data, text.len - 1, &profile), 0);
	buf_done(&text);
	return profile;
}

static int collect(void *arg, const char *at, size_t bytes)
{
	buf_add(arg, at, bytes);
	return buf_err(arg);
}

static void compare(const char *name, struct buf *got)
{
	struct buf want;
	char path[128];

	if (getenv("UPDATE")) {
		FILE *file;

		snprintf(path, sizeof(path), GOLDEN "%s", name);
		file = fopen(path, "we");
		OK(file && fwrite(got->data, 1, got->len, file) == got->len && !fclose(file));
	}
	read_file(name, &want);
	buf_add(got, "", 1);
	STREQ(got->data, want.data);
	buf_done(&want);
}

static void custom(const char *name, const struct customprofiles_text_options *options)
{
	_cleanup_(profile_freep) struct profile *profile = golden_profile();
	struct textout out;
	struct buf got;

	buf_init(&got, BYTES_MAX);
	textout_init(&out, collect, &got);
	customprofiles_text(profile, options, &out);
	EQ(textout_end(&out), 0);
	compare(name, &got);
	buf_done(&got);
}

TEST(customprofiles_text_has_every_line)
{
	custom("custom-default.txt",
	       &(struct customprofiles_text_options){ true, true, true, true, true, false, { 0, NULL }, { 0, NULL } });
	custom("custom-files.txt",
	       &(struct customprofiles_text_options){ false, true, true, true, true, true, { 0, NULL }, { 0, NULL } });
	custom("custom-bare.txt", &(struct customprofiles_text_options){ .frame_types = { 0, NULL } });
}

TEST(customprofiles_text_keeps_to_the_types_asked_for)
{
	static const char *const frames[] = { "kernel", "cpython", "unknown" }, *const samples[] = { "samples" };

	custom("custom-frame-types.txt", &(struct customprofiles_text_options){
		.stack_frames = true, .frame_types = { 3, frames }, .sample_types = { 1, samples } });
	custom("custom-no-sample-type.txt", &(struct customprofiles_text_options){
		.stack_frames = true, .sample_types = { 1, (const char *const[]){ "wall" } } });
}

static void debug(const char *name, void (*render)(const struct profile *, struct textout *))
{
	_cleanup_(profile_freep) struct profile *profile = golden_profile();
	struct textout out;
	struct buf got;

	buf_init(&got, BYTES_MAX);
	textout_init(&out, collect, &got);
	render(profile, &out);
	EQ(textout_end(&out), 0);
	compare(name, &got);
	buf_done(&got);
}

TEST(debug_text_is_laid_out_as_the_collector_does)
{
	debug("debug-normal.txt", debug_text_normal);
	debug("debug-detailed.txt", debug_text_detailed);
}

TEST(text_of_any_profile_is_clean_lines)
{
	static const struct customprofiles_text_options all = { false, true, true, true, true, true, { 0, NULL },
								{ 0, NULL } };

	for (unsigned int seed = 0; seed < 20; seed++) {
		_cleanup_(profile_freep) struct profile *profile = profile_random(seed, 0);
		struct textout out;
		struct buf got;

		buf_init(&got, BYTES_MAX);
		textout_init(&out, collect, &got);
		customprofiles_text(profile, &all, &out);
		debug_text_normal(profile, &out);
		debug_text_detailed(profile, &out);
		EQ(textout_end(&out), 0);
		OK(utf8_valid(got.data, got.len));
		for (size_t i = 0; i < got.len; i++)
			OK((unsigned char)got.data[i] >= 0x20 || got.data[i] == '\n');
		EQ(got.data[got.len - 1], '\n');
		buf_done(&got);
	}
}

TEST(textout_hands_on_whole_chunks_and_loses_nothing)
{
	struct textout out;
	struct buf got;

	buf_init(&got, BYTES_MAX);
	textout_init(&out, collect, &got);
	for (u32 i = 0; i < 10000; i++)
		textout_addf(&out, "%07u\n", i);
	EQ(got.len, 80000 / TEXTOUT_CHUNK * TEXTOUT_CHUNK);
	EQ(textout_end(&out), 0);
	EQ(got.len, 80000);
	for (u32 i = 0; i < 10000; i++)
		EQ(strtol(got.data + 8 * i, NULL, 10), i);
	buf_done(&got);
}

static int fail_after(void *arg, const char *at, size_t bytes)
{
	int *left = arg;

	return (*left)-- ? 0 : -ENOSPC;
}

TEST(textout_keeps_the_first_error_and_stops)
{
	_cleanup_(profile_freep) struct profile *profile = profile_random(3, 0);
	struct textout out;
	int left = 1;

	textout_init(&out, fail_after, &left);
	for (int i = 0; i < 100000 && !out.err; i++)
		debug_text_detailed(profile, &out);
	EQ(left, -1);
	debug_text_detailed(profile, &out);
	EQ(textout_end(&out), -ENOSPC);
	EQ(left, -1);
}

TEST(textout_lets_no_name_leave_its_line)
{
	static const struct { struct str name; const char *want; } cases[] = {
		{ STR("a\nb\tc\x7f"), "a\\x0ab\\x09c\\x7f" },
		{ STR("\xff\xfe"), "\\xff\\xfe" },
		{ STR("\xc2\x85" "x"), "\\u{0085}x" },
		{ STR("\xe2\x80\xae" "evil"), "\\u{202e}evil" },
		{ STR("gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5"), "gr\xc3\xbc\xc3\x9f \xf0\x9f\x94\xa5" },
		{ STR(""), "" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct textout out;
		struct buf got;

		buf_init(&got, 256);
		textout_init(&out, collect, &got);
		textout_name(&out, cases[i].name);
		textout_add(&out, "", 1);
		EQ(textout_end(&out), 0);
		STREQ(got.data, cases[i].want);
		buf_done(&got);
	}
}
