// SPDX-License-Identifier: Apache-2.0
/* Names for addresses of this very program, found in each of the ways there are. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "exe/reader.h"
#include "symbol/symbolizer.h"
#include "test.h"
#include "pipeline/try_test.h"

extern const struct component_ops processor_symbolize;

static struct exe_info self_info(void)
{
	struct reader *reader;
	struct exe_info info;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	EQ(reader_start(0, &reader), 0);
	EQ(reader_identify(reader, fd, &info), 0);
	reader_free(reader);
	close(fd);
	return info;
}

static u32 add_hex(struct profile *profile, const char *key, const u8 *id, u32 bytes)
{
	char hex[64] = "";

	for (u32 i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	return profile_add_attribute_string(profile, key, hex);
}

enum { NO_BUILD_ID = 1, WRONG_ID = 2, KERNEL = 4, NO_PID = 8, FULL_PATH = 16 };

/* One sample in symbolizer_run(), as OpenTelemetry's profiler sends it. */
static struct profile *unnamed(int how)
{
	struct profile *p = profile_new();
	struct keyvalue pid = { STR("process.pid"), { ANY_INT, 0, .integer = getpid() } };
	struct profile_resource *resource = profile_add_resource(p, &pid, how & NO_PID ? 0 : 1);
	struct profile_sample *sample = profile_add_sample(p, profile_add_set(p, profile_add_scope(p, resource)));
	struct exe_info info = self_info();
	struct profile_mapping mapping = { 0 };
	struct profile_location location = { 0 };
	struct link_map *map;
	u32 ids[2], count = 0, type, at;
	char path[1024] = "";
	Dl_info found;

	if (how & WRONG_ID)
		info.build_id[0] ^= 1;
	if (!(how & NO_BUILD_ID) && info.build_id_bytes)
		ids[count++] = add_hex(p, "process.executable.build_id.gnu", info.build_id, info.build_id_bytes);
	ids[count++] = add_hex(p, "process.executable.build_id.htlhash", info.htlhash, sizeof(info.htlhash));
	OK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	mapping.filename = profile_add_cstring(p, how & FULL_PATH ? path : strrchr(path, '/') + 1);
	mapping.attributes = (struct indices){ ids, count };
	location.mapping = profile_add_mapping(p, &mapping);
	OK(dladdr1((const void *)(uintptr_t)symbolizer_run, &found, (void **)&map, RTLD_DL_LINKMAP));
	location.address = (u64)(uintptr_t)symbolizer_run - map->l_addr + 5;
	type = profile_add_attribute_string(p, "profile.frame.type", how & KERNEL ? "kernel" : "native");
	location.attributes = (struct indices){ &type, 1 };
	at = profile_add_location(p, &location);
	sample->stack = profile_add_stack(p, &at, 1);
	return p;
}

/* The name of the outermost function of the only location that came out, "" if it has none. */
static const char *name_of(const char *yaml, struct profile *profile)
{
	static char name[256];
	const struct profile *p;
	const struct profile_location *l;
	struct try try;

	if (try_new(&try, &processor_symbolize, yaml) < 0)
		FAIL("%s: %s", yaml, try.why);
	EQ(try_send(&try, profile), 0);
	instance_stop(&try.instance, UINT64_MAX);
	EQ(try_count(), 1);
	p = try_result();
	EQ(profile_check(p), 0);
	l = &p->locations.at[1];
	name[0] = 0;
	if (l->line_count) {
		struct str s = p->strings.at[p->functions.at[l->lines[l->line_count - 1].function].name];

		snprintf(name, sizeof(name), "%.*s", (int)s.len, s.at);
	}
	EQ(try_counter(&try, "wick_processor_symbolize_named_frames"), name[0] != 0);
	try_free(&try);
	return name;
}

#define NOWHERE "local_processes: false, roots: [], directories: [], debug_directories: []"

TEST(symbolize_looks_at_running_processes)
{
	STREQ(name_of("{roots: [], directories: [], debug_directories: []}", unnamed(0)), "symbolizer_run");
	STREQ(name_of("{roots: [], directories: [], debug_directories: []}", unnamed(NO_BUILD_ID)), "symbolizer_run");
}

TEST(symbolize_takes_only_the_right_file)
{
	struct exe_info info = self_info();

	if (!info.build_id_bytes)
		SKIP("this program has no build id");
	STREQ(name_of("{directories: [], debug_directories: []}", unnamed(WRONG_ID)), "");
}

TEST(symbolize_leaves_kernel_frames_alone)
{
	STREQ(name_of("{}", unnamed(KERNEL)), "");
}

TEST(symbolize_looks_below_roots_and_in_directories)
{
	char yaml[2048], path[1024] = "";

	OK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	STREQ(name_of("{" NOWHERE "}", unnamed(NO_PID | FULL_PATH)), "");
	STREQ(name_of("{local_processes: false, directories: [], debug_directories: []}", unnamed(NO_PID | FULL_PATH)),
	      "symbolizer_run");
	if (strrchr(path, '/') == path)
		SKIP("this program lies in the root directory, and so does everything");
	/* Next to it there may be others of its name: of other builds. */
	*strrchr(path, '/') = 0;
	snprintf(yaml, sizeof(yaml), "{local_processes: false, roots: [], directories: ['%s'], debug_directories: []}",
		 path);
	STREQ(name_of(yaml, unnamed(NO_PID)), "symbolizer_run");
}

TEST(symbolize_finds_debug_files_by_build_id)
{
	struct exe_info info = self_info();
	char dir[] = "/tmp/wick-symbolize-XXXXXX", path[1024] = "", sub[256], file[512], yaml[2048];
	size_t len;

	if (!info.build_id_bytes)
		SKIP("this program has no build id");
	OK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	OK(mkdtemp(dir));
	snprintf(sub, sizeof(sub), "%s/%02x", dir, info.build_id[0]);
	EQ(mkdir(sub, 0700), 0);
	len = (size_t)snprintf(file, sizeof(file), "%s/", sub);
	for (u32 i = 1; i < info.build_id_bytes; i++)
		len += (size_t)snprintf(file + len, sizeof(file) - len, "%02x", info.build_id[i]);
	snprintf(file + len, sizeof(file) - len, ".debug");
	EQ(symlink(path, file), 0);
	snprintf(yaml, sizeof(yaml), "{local_processes: false, roots: [], directories: [], debug_directories: ['%s']}",
		 dir);
	STREQ(name_of(yaml, unnamed(NO_PID)), "symbolizer_run");
	unlink(file);
	rmdir(sub);
	rmdir(dir);
}

/* Nothing is held up, and the order stays. */
TEST(symbolize_sends_on_what_needs_no_names_or_finds_no_room)
{
	struct try try;

	EQ(try_new(&try, &processor_symbolize, "{queue_size: 1, roots: [], directories: []}"), 0);
	for (int i = 0; i < 20; i++)
		EQ(try_send(&try, try_profile()), 0);
	instance_stop(&try.instance, UINT64_MAX);
	EQ(try_count(), 20);
	OK(try_counter(&try, "wick_processor_symbolize_passed_samples") % 4 == 0);
	/* After the end there is no thread that could take it. */
	EQ(try_send(&try, try_profile()), 0);
	EQ(try_count(), 21);
	try_free(&try);
}
