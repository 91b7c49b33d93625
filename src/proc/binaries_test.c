// SPDX-License-Identifier: Apache-2.0
#include "proc/binaries.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "exe/background_reader.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "test.h"

static struct binaries *new_table(struct background_reader **ret_reader)
{
	struct binaries *b;

	EQ(background_reader_new(ret_reader), 0);
	EQ(binaries_new(*ret_reader, NULL, &b), 0);
	return b;
}

/* The binary behind a mapping of ours, once it is known. */
static struct binary *resolve(struct binaries *b, struct background_reader *reader, const struct mapping *m)
{
	struct pollfd done = { .fd = background_reader_fd(reader), .events = POLLIN };
	struct binary *binary = NULL;

	while (binaries_resolve(b, (u32)getpid(), m, &binary) == -EAGAIN) {
		EQ(poll(&done, 1, 10000), 1);
		background_reader_poll(reader, monotonic_ns());
	}
	return binary;
}

/* Our own mappings, as /proc shows them. */
static struct maps *own_maps(void)
{
	struct maps *maps = maps_new();
	FILE *file = fopen("/proc/self/maps", "r");

	EQ(maps_read(maps, file), 0);
	fclose(file);
	return maps;
}

TEST(binaries_opens_a_mapped_file_once)
{
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	struct maps *maps = own_maps();
	struct mapping m = *maps_find(maps, (u64)(unsigned long)own_maps);
	struct binary *one = resolve(b, reader, &m), *two, *three;
	u64 bias, start, end;

	OK(one && one->fd >= 0);
	OK(one->info.build_id_bytes > 0);
	two = resolve(b, reader, &m);
	OK(one == two);
	/* A copy of it, under another inode, is the same. */
	m.dev_major++;
	three = resolve(b, reader, &m);
	OK(one == three);
	EQ(binaries_stats(b).opened, 1);
	OK(binary_place(one, &m, &bias, &start, &end));
	OK(start <= (u64)(unsigned long)own_maps && (u64)(unsigned long)own_maps < end);
	binary_unref(one);
	binary_unref(two);
	binary_unref(three);
	maps_free(maps);
	background_reader_free(reader);
	binaries_free(b);
}

TEST(binaries_opens_a_mapping_that_is_shorter_than_was_told)
{
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	struct maps *maps = own_maps();
	struct mapping m = *maps_find(maps, (u64)(unsigned long)own_maps);
	struct binary *binary;

	m.end_va += 0x100000;
	m.path = "/no/such/file";
	binary = resolve(b, reader, &m);
	OK(binary && binary->fd >= 0);
	binary_unref(binary);
	maps_free(maps);
	background_reader_free(reader);
	binaries_free(b);
}

static void look_at_memfd(off_t bytes)
{
	int fd = memfd_create("doublemapper", MFD_CLOEXEC);
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	const struct mapping *m;
	struct maps *maps;
	void *at;

	EQ(ftruncate(fd, bytes), 0);
	at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	maps = own_maps();
	m = maps_find(maps, (u64)(unsigned long)at);
	OK(m != NULL);
	for (u32 i = 0; m && i < 3; i++)
		OK(!resolve(b, reader, m));
	EQ(binaries_stats(b).not_elf, 1);
	EQ(binaries_stats(b).unreadable, 0);
	EQ(background_reader_stats(reader).requests, 1);
	munmap(at, 4096);
	close(fd);
	maps_free(maps);
	background_reader_free(reader);
	binaries_free(b);
}

TEST(binaries_looks_once_at_a_memfd_that_is_no_elf_file)
{
	look_at_memfd(4096);
	look_at_memfd(1ll << 41);
}

TEST(binaries_takes_images_of_windows_for_code_of_a_runtime)
{
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	struct mapping m = { .kind = MAPPING_FILE, .path = "/usr/lib/dotnet/System.Linq.dll", .start_va = 0x1000,
			     .end_va = 0x3000 };

	OK(!resolve(b, reader, &m));
	EQ(background_reader_stats(reader).requests, 0);
	background_reader_free(reader);
	binaries_free(b);
}

TEST(binaries_copies_the_vdso)
{
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	struct mapping m = { .kind = MAPPING_VDSO, .path = "[vdso]", .start_va = 0x1000, .end_va = 0x3000 };
	struct binary *vdso = resolve(b, reader, &m);

	OK(vdso && vdso->fd >= 0);
	STREQ(binary_name(vdso), "[vdso]");
	OK(vdso->info.segment_count > 0);
	binary_unref(vdso);
	background_reader_free(reader);
	binaries_free(b);
}

TEST(binaries_refuses_pipes_and_devices)
{
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	struct mapping m = {
		.kind = MAPPING_FILE, .path = "/dev/zero", .start_va = 0x1000, .end_va = 0x3000, .inode = 1,
	};
	struct binary *device = resolve(b, reader, &m);

	OK(device && device->fd < 0);
	EQ(binaries_stats(b).unreadable, 1);
	binary_unref(device);
	background_reader_free(reader);
	binaries_free(b);
}

static void forget(void *arg, struct binary *binary)
{
	(*(int *)arg)++;
}

TEST(binaries_lets_go_of_what_nobody_uses)
{
	struct background_reader *reader;
	struct binaries *b = new_table(&reader);
	struct mapping m = { .kind = MAPPING_VDSO, .path = "[vdso]", .start_va = 0x1000, .end_va = 0x3000 };
	struct binary *vdso = resolve(b, reader, &m);
	u32 id = vdso->id;
	int forgotten = 0;

	binaries_sweep(b, forget, &forgotten);
	binaries_sweep(b, forget, &forgotten);
	EQ(forgotten, 0);
	binary_unref(vdso);
	binaries_sweep(b, forget, &forgotten);
	EQ(forgotten, 0);
	binaries_sweep(b, forget, &forgotten);
	EQ(forgotten, 1);
	OK(!binaries_get(b, id));
	background_reader_free(reader);
	binaries_free(b);
}

TEST(binary_place_uses_the_segment_of_the_offset)
{
	struct binary binary = { .info = { .segment_count = 2,
					   .segment = { { 0x1000, 0x401000, 0x800 }, { 0x3000, 0x405000, 0x1000 } } } };
	struct mapping m = { .start_va = 0x7000, .end_va = 0x9000, .file_offset = 0x3000 };
	u64 bias, start, end;

	OK(binary_place(&binary, &m, &bias, &start, &end));
	EQ(start, 0x7000);
	EQ(end, 0x8000);
	EQ(start - bias, 0x405000);
	m.file_offset = 0x8000;
	OK(!binary_place(&binary, &m, &bias, &start, &end));
}
