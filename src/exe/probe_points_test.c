// SPDX-License-Identifier: Apache-2.0
#include "exe/probe_points.h"

#include <errno.h>
#include <string.h>

#include "exe/elf.h"
#include "forge.h"
#include "forge_symbols.h"
#include "test.h"

#define TEXT_EA 0x401000
#define TEXT_FO 0x1000

static const struct sym symbols[] = {
	{ "handle_request", TEXT_EA + 0x10, 8, STT_FUNC, STB_GLOBAL },
	{ "somewhere_else", 0x900000, 8, STT_FUNC, STB_GLOBAL },
};

/* A note of a USDT marker: owner "stapsdt", three addresses, three texts. */
static void put_marker(struct buf *notes, u64 place_ea, u64 base_ea, u64 semaphore_ea, const char *texts, u32 bytes)
{
	u32 head[] = { 8, 24 + bytes, 3 };
	u64 eas[] = { place_ea, base_ea, semaphore_ea };

	buf_add(notes, head, sizeof(head));
	buf_add(notes, "stapsdt", 8);
	buf_add(notes, eas, sizeof(eas));
	buf_add(notes, texts, bytes);
	buf_add(notes, "\0\0\0", (4 - bytes % 4) % 4);
}

static void forge_file(struct forge *f)
{
	struct buf notes;

	buf_init(&notes, 4096);
	put_marker(&notes, TEXT_EA + 0x20, 0, 0, "app\0begin\08@%rdi", 17);
	put_marker(&notes, TEXT_EA + 0x30, 0, TEXT_EA + 0x800, "app\0end\0-4@%eax 8@$3", 21);
	put_marker(&notes, TEXT_EA + 0x40, 0, 0, "app\0begin\08@%rsi", 17);
	put_marker(&notes, 0x900000, 0, 0, "app\0begin\08@%rsi", 17);	/* in no segment */
	put_marker(&notes, TEXT_EA + 0x50, 0, 0, "app\0cut", 7);		/* a text is missing */
	forge_init(f, EM_X86_64);
	forge_symbols(f, ".symtab", SHT_SYMTAB, symbols, 2);
	forge_section(f, ".note.stapsdt", SHT_NOTE, 0, 0, notes.data, notes.len);
	f->phdr[f->ehdr.e_phnum++] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_offset = TEXT_FO,
						  .p_vaddr = TEXT_EA, .p_filesz = 0x1000, .p_memsz = 0x1000 };
	forge_finish(f);
	buf_done(&notes);
}

static int find(const struct probe_wanted *wanted, struct probe_points *ret_points)
{
	_cleanup_(forge_done) struct forge f;
	_cleanup_(exe_freep) struct exe *exe = NULL;
	int r;

	forge_file(&f);
	EQ(exe_open_mem(f.b.data, f.b.len, &exe), 0);
	r = probe_points_find(exe, wanted, ret_points);
	EQ(probe_points_check(ret_points, sizeof(*ret_points)), 0);
	return r;
}

TEST(probe_points_of_functions_are_offsets_in_the_file)
{
	struct probe_points points;

	EQ(find(&(struct probe_wanted){ .name = "handle_request" }, &points), 0);
	EQ(points.count, 1);
	EQ(points.at[0].fo, TEXT_FO + 0x10);
	EQ(find(&(struct probe_wanted){ .name = "handle_request", .offset = 4 }, &points), 0);
	EQ(points.at[0].fo, TEXT_FO + 0x14);
	EQ(find(&(struct probe_wanted){ .name = "0x401018" }, &points), 0);
	EQ(points.at[0].fo, TEXT_FO + 0x18);
	EQ(find(&(struct probe_wanted){ .name = "handle_request", .offset = 0x100000 }, &points), 0);
	EQ(points.count, 0);
	EQ(find(&(struct probe_wanted){ .name = "somewhere_else" }, &points), 0);
	EQ(points.count, 0);
}

TEST(probe_points_that_are_misspelled_have_a_nearest_name)
{
	struct probe_points points;

	EQ(find(&(struct probe_wanted){ .name = "handle_requst" }, &points), 0);
	EQ(points.count, 0);
	STREQ(points.nearest, "handle_request");
	EQ(find(&(struct probe_wanted){ .is_usdt = 1, .name = "begn" }, &points), 0);
	EQ(points.count, 0);
	STREQ(points.nearest, "begin");
}

TEST(probe_points_of_markers_are_all_of_a_name_with_their_arguments)
{
	struct probe_points points;

	EQ(find(&(struct probe_wanted){ .is_usdt = 1, .provider = "app", .name = "begin" }, &points), 0);
	EQ(points.count, 2);
	EQ(points.at[0].fo, TEXT_FO + 0x20);
	EQ(points.at[1].fo, TEXT_FO + 0x40);
	STREQ(points.at[1].arguments, "8@%rsi");
	EQ(find(&(struct probe_wanted){ .is_usdt = 1, .name = "end" }, &points), 0);
	EQ(points.count, 1);
	EQ(points.at[0].semaphore_fo, TEXT_FO + 0x800);
	STREQ(points.at[0].arguments, "-4@%eax 8@$3");
	EQ(find(&(struct probe_wanted){ .is_usdt = 1, .provider = "other", .name = "begin" }, &points), 0);
	EQ(points.count, 0);
}
