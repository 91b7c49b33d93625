// SPDX-License-Identifier: Apache-2.0
/* This test program is what is uploaded: it has symbols, and knows where its functions are. */
#include "web/upload.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/hex.h"
#include "profile/any.h"
#include "analysis/calltree.h"
#include "store/scratch_test.h"
#include "store/uploads.h"
#include "test.h"

#define NOW_NS (1800000000 * SECOND_NS)

__attribute__((noinline, used)) int upload_test_function(int x)
{
	return x * 3 + 1;
}

static int note_base(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	*(u64 *)arg = info->dlpi_addr;
	return 1;
}

/* A sample at an address of this program, as a sender has it that knows no names. */
static void add_sample(struct store *store, const char *build_id, u64 address)
{
	_cleanup_(profile_freep) struct profile *p = profile_new();
	struct profile_set *set = profile_add_set(p, profile_add_scope(p, profile_add_resource(p, NULL, 0)));
	struct profile_sample *sample = profile_add_sample(p, set);
	u32 id = profile_add_attribute_string(p, "process.executable.build_id.gnu", build_id), location, mapping;
	u64 now_ns = NOW_NS;

	mapping = profile_add_mapping(p, &(struct profile_mapping){ .filename = profile_add_cstring(p, "/opt/unit"),
								   .attributes = { &id, 1 } });
	location = profile_add_location(p, &(struct profile_location){ .mapping = mapping, .address = address });
	sample->stack = profile_add_stack(p, &location, 1);
	sample->times_unix_ns = profile_copy(p, &now_ns, sizeof(now_ns));
	sample->time_count = 1;
	EQ(profile_err(p), 0);
	EQ(store_add(store, p, 0, NOW_NS), 0);
}

static bool has_function(struct store *store, const char *name)
{
	struct store_selection all = { .from_ns = NOW_NS - SECOND_NS, .to_ns = NOW_NS + SECOND_NS };
	_cleanup_(calltree_freep) struct calltree *flame = NULL;

	EQ(store_flame(store, &all, STORE_LABEL_COUNT, &flame), 0);
	for (u32 i = 0; i < flame->frames.count; i++)
		if (str_equal(calltree_frames(flame)[i].name, (struct str){ name, (u32)strlen(name) }))
			return true;
	return false;
}

static void read_build_id(char hex[UPLOADS_ID_MAX])
{
	_cleanup_(reader_freep) struct reader *reader = NULL;
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct exe_info info;

	EQ(reader_start(0, &reader), 0);
	EQ(reader_identify(reader, fd, &info), 0);
	OK(info.build_id_bytes);
	hex_write(info.build_id, info.build_id_bytes, hex);
	hex[2 * info.build_id_bytes] = '\0';
}

/* The answer's status; the text goes to out. */
static int upload(struct store *store, const void *at, size_t bytes, char out[4096])
{
	struct buf body;
	struct api_answer answer = { .body = &body };

	buf_init(&body, 1 << 20);
	upload_symbols(store, at, bytes, &answer);
	snprintf(out, 4096, "%.*s", (int)body.len, body.len ? body.data : "");
	buf_done(&body);
	return answer.status;
}

TEST(upload_names_what_the_store_has)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char build_id[UPLOADS_ID_MAX], out[4096], path[4200];
	struct stat st;
	u64 base = 0;
	void *file;

	EQ(fstat(fd, &st), 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	OK(file != MAP_FAILED);
	read_build_id(build_id);
	OK(dl_iterate_phdr(note_base, &base) == 1);
	add_sample(store, build_id, (u64)(uintptr_t)upload_test_function + 1 - base);
	OK(!has_function(store, "upload_test_function"));
	EQ(upload(store, file, (size_t)st.st_size, out), 200);
	OK(strstr(out, build_id) && strstr(out, "\"path\":\"/opt/unit\""));
	OK(strstr(out, "\"addresses\":1,\"named\":1"));
	OK(has_function(store, "upload_test_function"));
	EQ(store_uploads(store), 1);
	snprintf(path, sizeof(path), "%s/symbols/%s", scratch_directory(), build_id);
	EQ(access(path, R_OK), 0);
	munmap(file, (size_t)st.st_size);
}

TEST(upload_refuses_what_is_no_elf_file)
{
	_cleanup_(store_closep) struct store *store = scratch_store();
	char out[4096], path[4096];

	EQ(upload(store, "hello", 5, out), 400);
	OK(strstr(out, "no ELF file"));
	EQ(upload(store, "", 0, out), 400);
	EQ(upload(store, "\x7f" "ELF\2\1\1", 7, out), 400);
	/* Nothing is left of them. */
	EQ(rmdir(uploads_path(scratch_directory(), path)), 0);
	EQ(store_uploads(store), 0);
}
