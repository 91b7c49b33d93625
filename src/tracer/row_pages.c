// SPDX-License-Identifier: Apache-2.0
#include "tracer/row_pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/tracer.skel.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/interner.h"
#include "base/ranges.h"
#include "exe/rows.h"
#include "exe/rows_file.h"
#include "exe/rows_part.h"

#define GRACE_NS 100000000ull
#define FILE_PAGES_MAX (PAGES_MAX / 4 + 1)	/* 2 GiB of text, wherever it begins */
#define RULE_UNKNOWN 0xffff
#define CHUNK_BORROWED CHUNKS_MAX	/* number of a chunk that only we read */

/* A file whose rows fit one chunk is put into place as a whole while that takes no more than a part of the memory. */
#define WHOLE_ROWS_MAX CHUNK_ROWS
#define WHOLE_SHARE 4
/* That part of the chunks is kept free, once there can be no more of them. */
#define FREE_SHARE 8

enum chunk_state { CHUNK_FREE, CHUNK_OPEN, CHUNK_FULL, CHUNK_CLEANED };

struct chunk {
	struct rows_chunk *memory;
	enum chunk_state state;
	u32 row_count;		/* taken, from the start on */
	u32 *pages;		/* that were put here, in order; some may be elsewhere by now */
	u32 page_count, page_cap;
	u64 cleaned_ns;
};

/* Of a page with code that was left for later. */
enum part_state { PART_NONE, PART_ASKED, PART_HERE, PART_FAILED };

struct source {
	struct row_pages_range range;
	struct rows_file *file;
	u16 *rule_ids;		/* by the file's own numbers; RULE_UNKNOWN until one is met */
	u8 *parts;		/* enum part_state by page; NULL: all PART_NONE */
	bool is_unread;		/* what was left for later has to be read before anybody goes through it */
};

struct row_pages {
	bool is_private;	/* no kernel half reads them */
	int chunks_fd;
	struct page_entry *entries;
	struct unwind_rule *rules;
	struct ranges free_entries;
	struct source *sources;	/* by first entry */
	u32 source_count, source_cap;
	struct chunk chunks[CHUNKS_MAX];
	u32 chunk_count, chunk_max;
	u32 open;		/* chunk that pages are put into */
	u32 oldest;		/* chunk that is cleaned next */
	u64 live_rows;		/* of pages in place */
	struct rows_chunk *borrowed;
	struct page_entry borrowed_entry;
	struct arena rule_arena;
	struct interner rule_ids;
	struct row_pages_stats stats;
};

/* Memory of a map, or without one (-1) of our own; NULL if there is none. */
static void *map_memory(int fd, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* ---- Chunks ---------------------------------------------------------------- */

/* The map of a chunk, mapped; its file descriptor, or -1 if only we read it. */
static int chunk_init(struct chunk *chunk, bool is_private, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
	_cleanup_(closep) int fd = -1;

	if (!is_private) {
		fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "rows", sizeof(u32), sizeof(struct rows_chunk), 1, &options);
		if (fd < 0)
			return -errno;
	}
	chunk->memory = map_memory(fd, sizeof(struct rows_chunk));
	if (!chunk->memory)
		return -errno;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static void chunk_done(struct chunk *chunk)
{
	munmap(chunk->memory, sizeof(struct rows_chunk));
	free(chunk->pages);
	*chunk = (struct chunk){ 0 };
}

/*
 * Puts chunks into place. Each time the kernel waits until no CPU runs a program any more, so that many at once are as
 * fast as one, where it can take many (ARRAY_OF_MAPS in batches: v5.14).
 */
static int place_chunks(struct row_pages *p, u32 *numbers, int *fds, u32 count)
{
	u32 placed = count;

	if (p->is_private)
		return 0;
	if (count > 1 && !bpf_map_update_batch(p->chunks_fd, numbers, fds, &placed, NULL))
		return 0;
	for (u32 i = 0; i < count; i++)
		if (bpf_map_update_elem(p->chunks_fd, &numbers[i], &fds[i], BPF_ANY))
			return -errno;
	return 0;
}

/* More chunks. Their maps live as long as they are in the outer map and mapped here. */
static int add_chunks(struct row_pages *p, u32 count)
{
	u32 numbers[CHUNKS_MAX], made = 0;
	int fds[CHUNKS_MAX], r = 0;

	for (; made < count; made++) {
		numbers[made] = p->chunk_count + made;
		r = chunk_init(&p->chunks[numbers[made]], p->is_private, &fds[made]);
		if (r < 0)
			break;
	}
	if (r >= 0)
		r = place_chunks(p, numbers, fds, made);
	for (u32 i = 0; i < made; i++) {
		closep(&fds[i]);
		if (r < 0)
			chunk_done(&p->chunks[numbers[i]]);
	}
	if (r < 0)
		return r;
	p->chunk_count += made;
	p->stats.bytes += made * sizeof(struct rows_chunk);
	return 0;
}

/* Half as many again, so that the kernel need not be waited for often. */
static int grow(struct row_pages *p)
{
	u32 more = p->chunk_count / 2 + 1, left = p->chunk_max - p->chunk_count;

	return left ? add_chunks(p, more < left ? more : left) : -ENOSPC;
}

static u32 count_chunks(const struct row_pages *p, enum chunk_state state)
{
	u32 count = 0;

	for (u32 i = 0; i < p->chunk_count; i++)
		count += p->chunks[i].state == state;
	return count;
}

static int open_chunk(struct row_pages *p)
{
	u32 i = 0;
	int r;

	while (i < p->chunk_count && p->chunks[i].state != CHUNK_FREE)
		i++;
	if (i == p->chunk_count) {
		r = grow(p);
		if (r < 0)
			return r;
	}
	if (p->chunks[p->open].state == CHUNK_OPEN)
		p->chunks[p->open].state = CHUNK_FULL;
	p->chunks[i].state = CHUNK_OPEN;
	p->open = i;
	return 0;
}

/* Room for the rows of a page: an entry for it. It is taken by put_entry(). */
static int find_room(struct row_pages *p, u32 count, struct page_entry *ret_entry)
{
	struct chunk *chunk = &p->chunks[p->open];
	int r;

	if (chunk->state != CHUNK_OPEN || count > CHUNK_ROWS - chunk->row_count) {
		r = open_chunk(p);
		if (r < 0)
			return r;
		chunk = &p->chunks[p->open];
	}
	r = array_reserve(&chunk->pages, &chunk->page_cap, chunk->page_count + 1, sizeof(*chunk->pages));
	if (r < 0)
		return r;
	*ret_entry = (struct page_entry){ .first = chunk->row_count, .count = (u16)count, .chunk = (u8)p->open };
	return 0;
}

/* ---- Entries --------------------------------------------------------------- */

static void store_entry(struct row_pages *p, u32 index, struct page_entry entry)
{
	u64 word;

	memcpy(&word, &entry, sizeof(word));
	__atomic_store_n((u64 *)&p->entries[index], word, __ATOMIC_RELEASE);
}

static bool is_absent(const struct page_entry *entry)
{
	return !entry->count && entry->chunk == PAGE_ABSENT;
}

/* An entry whose rows are written. */
static void put_entry(struct row_pages *p, u32 index, struct page_entry entry)
{
	struct chunk *chunk = &p->chunks[entry.chunk];

	chunk->row_count += entry.count;
	chunk->pages[chunk->page_count++] = index;
	p->live_rows += entry.count;
	store_entry(p, index, entry);
}

/* ---- Files ----------------------------------------------------------------- */

/* Index of the first source whose entries begin after that one. */
static u32 search_sources(const struct row_pages *p, u32 index)
{
	u32 lo = 0, hi = p->source_count;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (p->sources[mid].range.first <= index)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct source *find_source(const struct row_pages *p, u32 index)
{
	u32 i = search_sources(p, index);

	return i && index - p->sources[i - 1].range.first < p->sources[i - 1].range.count ? &p->sources[i - 1] : NULL;
}

static void source_done(struct source *source)
{
	rows_file_free(source->file);
	free(source->rule_ids);
	free(source->parts);
}

static enum part_state part_state(const struct source *source, u32 index)
{
	return source->parts ? source->parts[index - source->range.first] : PART_NONE;
}

/* Its rows stay for those who look at them just now. */
static void take_out(struct row_pages *p, u32 index)
{
	struct source *source = find_source(p, index);

	p->live_rows -= p->entries[index].count;
	store_entry(p, index, (struct page_entry){ .chunk = PAGE_ABSENT });
	if (source && part_state(source, index) == PART_HERE)
		source->parts[index - source->range.first] = PART_NONE;
}

/* The number of a rule of a file in the table of all. */
static u16 add_rule(struct row_pages *p, const struct rows_file *file, u16 number)
{
	struct unwind_rule rule = { .kind = RULE_NONE };
	bool is_new;
	u32 id;

	if (rows_file_rule(file, number, &rule) < 0)
		return 0;
	if (rows_is_unswept(&rule))
		rule.cfa_off = 0;
	id = interner_add(&p->rule_ids, &rule, sizeof(rule), &is_new);
	if (id == INTERNER_NONE) {
		p->stats.rules_full++;
		return 0;
	}
	if (is_new)
		p->rules[id] = rule;
	return (u16)id;
}

static u16 rule_id(struct row_pages *p, struct source *source, u16 number)
{
	if (source->rule_ids[number] == RULE_UNKNOWN)
		source->rule_ids[number] = add_rule(p, source->file, number);
	return source->rule_ids[number];
}

static int read_rows(struct row_pages *p, struct source *source, const struct rows_page *page,
		     struct rows_chunk *chunk, u32 first)
{
	int r = rows_file_page(source->file, page, &chunk->low[first], &chunk->rule[first]);

	for (u32 i = first; r == 0 && i < first + page->count; i++)
		chunk->rule[i] = rule_id(p, source, chunk->rule[i]);
	return r;
}

/* Is code of that page ROWS_UNREAD, and not to be had elsewhere? */
static bool lacks_part(const struct source *source, u32 index, const struct rows_page *page)
{
	enum part_state state = part_state(source, index);

	return source->is_unread &&
	       (state == PART_ASKED || (state == PART_NONE && rows_part_is_in(source->file, page)));
}

/* Puts a page into place. -ENOSPC if there is no room at the moment; one that cannot be read has no rows. */
static int install(struct row_pages *p, struct source *source, u32 index, const struct rows_page *page, bool is_used)
{
	struct page_entry entry;
	int r = find_room(p, page->count, &entry);

	if (r < 0)
		return r;
	if (read_rows(p, source, page, p->chunks[entry.chunk].memory, entry.first) < 0) {
		p->stats.unreadable++;
		store_entry(p, index, (struct page_entry){ 0 });
		return -EIO;
	}
	entry.used = is_used;
	put_entry(p, index, entry);
	p->stats.installed++;
	return 0;
}

static struct rows_chunk *private_chunk(struct row_pages *p)
{
	if (!p->borrowed)
		p->borrowed = map_memory(-1, sizeof(*p->borrowed));
	return p->borrowed;
}

/* Rows that find no room, where only we see them. */
static struct page_entry *borrow(struct row_pages *p, struct source *source, const struct rows_page *page)
{
	if (!private_chunk(p) || read_rows(p, source, page, p->borrowed, 0) < 0)
		return NULL;
	p->stats.borrowed++;
	p->borrowed_entry = (struct page_entry){ .count = (u16)page->count, .chunk = CHUNK_BORROWED, .used = 1 };
	return &p->borrowed_entry;
}

struct page_entry *row_pages_need(struct row_pages *p, u32 index)
{
	const struct rows_page *page;
	struct source *source;
	int r;

	if (index >= PAGES_MAX)
		return NULL;
	if (!is_absent(&p->entries[index]))
		return &p->entries[index];
	source = find_source(p, index);
	page = source ? rows_file_find(source->file, index - source->range.first + source->range.first_number) : NULL;
	if (!page)
		return NULL;
	if (lacks_part(source, index, page))
		return &p->entries[index];
	/* The kernel half does not see what is about to be replaced: its samples wait for that. */
	if (part_state(source, index) == PART_ASKED)
		return borrow(p, source, page);
	r = install(p, source, index, page, true);
	return r == -EIO ? NULL : r < 0 ? borrow(p, source, page) : &p->entries[index];
}

/*
 * Tells the kernel half which pages there are; few of a small file, of which it is spared to ask for each. Where code
 * was left for later, the first stack that comes by shows whether that is needed, and can wait for it.
 */
static void show_pages(struct row_pages *p, struct source *source)
{
	const struct rows *head = rows_file_head(source->file);
	bool whole = head->row_count <= WHOLE_ROWS_MAX && !head->unswept &&
		     (p->live_rows + head->row_count) * 4 <= p->chunk_max * sizeof(struct rows_chunk) / WHOLE_SHARE;

	for (u32 i = 0; i < head->page_count; i++) {
		const struct rows_page *page = &rows_file_pages(source->file)[i];
		u32 at = page->number - source->range.first_number;

		if (page->number < source->range.first_number || at >= source->range.count)
			continue;
		store_entry(p, source->range.first + at, (struct page_entry){ .chunk = PAGE_ABSENT });
		if (whole)
			(void)install(p, source, source->range.first + at, page, false);	/* else later */
	}
}

static int add_source(struct row_pages *p, struct rows_file *file, const struct row_pages_range *range)
{
	u32 rule_count = rows_file_head(file)->rule_count, at = search_sources(p, range->first);
	u16 *rule_ids;

	if (array_reserve(&p->sources, &p->source_cap, p->source_count + 1, sizeof(*p->sources)) < 0)
		return -ENOMEM;
	rule_ids = malloc((rule_count + 1) * sizeof(*rule_ids));
	if (!rule_ids)
		return -ENOMEM;
	memset(rule_ids, 0xff, (rule_count + 1) * sizeof(*rule_ids));
	memmove(&p->sources[at + 1], &p->sources[at], (p->source_count - at) * sizeof(*p->sources));
	p->sources[at] = (struct source){ *range, file, rule_ids, NULL, rows_part_is_unread(file) };
	p->source_count++;
	show_pages(p, &p->sources[at]);
	return 0;
}

int row_pages_add(struct row_pages *p, struct rows_file *taken, u64 start_ea, u64 end_ea,
		  struct row_pages_range *ret_range)
{
	_cleanup_(rows_file_freep) struct rows_file *file = taken;
	struct row_pages_range range = { .first_number = (u32)(start_ea >> PAGE_ROWS_SHIFT) };
	u64 count = end_ea > start_ea ? ((end_ea - 1) >> PAGE_ROWS_SHIFT) - (start_ea >> PAGE_ROWS_SHIFT) + 1 : 0;
	int64_t first;
	int r;

	if (!count || count > FILE_PAGES_MAX || end_ea > FRAME_EA_MASK)
		return -E2BIG;
	first = ranges_take(&p->free_entries, (u32)count);
	if (first < 0) {
		p->stats.files_full++;
		return (int)first;
	}
	range.first = (u32)first;
	range.count = (u32)count;
	r = add_source(p, file, &range);
	if (r < 0) {
		(void)ranges_give(&p->free_entries, range.first, range.count);
		return r;
	}
	TAKE(file);
	*ret_range = range;
	return 0;
}

void row_pages_give(struct row_pages *p, u32 first)
{
	u32 at = search_sources(p, first);
	struct source source;

	if (!at || p->sources[at - 1].range.first != first)
		return;
	source = p->sources[at - 1];
	p->source_count--;
	memmove(&p->sources[at - 1], &p->sources[at], (p->source_count - at + 1) * sizeof(source));
	for (u32 i = first; i < first + source.range.count; i++) {
		p->live_rows -= p->entries[i].count;
		store_entry(p, i, (struct page_entry){ 0 });
	}
	(void)ranges_give(&p->free_entries, first, source.range.count);
	source_done(&source);
}

/* ---- Parts ----------------------------------------------------------------- */

enum row_part row_pages_want_part(struct row_pages *p, u32 first, u64 ea, struct rows_part *ret_part)
{
	struct source *source = find_source(p, first);
	u64 at = source ? (ea >> PAGE_ROWS_SHIFT) - source->range.first_number : 0;
	enum part_state state;

	if (!source || at >= source->range.count || !rows_file_head(source->file)->unswept)
		return ROW_PART_NONE;
	state = part_state(source, first + (u32)at);
	if (state != PART_NONE)
		return state == PART_ASKED ? ROW_PART_COMING : ROW_PART_NONE;
	if (!rows_part_find(source->file, ea, ret_part))
		return ROW_PART_NONE;
	if (!source->parts)
		source->parts = calloc(source->range.count, 1);
	if (!source->parts)
		return ROW_PART_NONE;
	source->parts[at] = PART_ASKED;
	take_out(p, first + (u32)at);
	return ROW_PART_WANTED;
}

bool row_pages_part_is_coming(const struct row_pages *p, u32 index)
{
	const struct source *source = find_source(p, index);

	return source && part_state(source, index) == PART_ASKED;
}

/* The page with what its part adds to it. */
static int install_part(struct row_pages *p, struct source *source, u32 index, const struct rows_page *page,
			const struct rows_file *swept)
{
	const struct rows_page *more = rows_file_find(swept, page->number);
	struct rows_chunk *chunk = private_chunk(p);
	struct rows_list list, own, added;
	struct page_entry entry;
	int r;

	if (!more || !chunk)
		return -ENODATA;
	own = (struct rows_list){ chunk->low, chunk->rule, page->count };
	added = (struct rows_list){ chunk->low + PAGE_ROWS_MAX, chunk->rule + PAGE_ROWS_MAX, more->count };
	r = rows_file_page(swept, more, added.low, added.rule);
	if (r == 0)
		r = read_rows(p, source, page, chunk, 0);
	for (u32 i = 0; r == 0 && i < added.count; i++)
		added.rule[i] = add_rule(p, swept, added.rule[i]);
	if (r < 0)
		return r;
	list.count = own.count + added.count < PAGE_ROWS_MAX ? own.count + added.count : PAGE_ROWS_MAX;
	r = find_room(p, list.count, &entry);
	if (r < 0)
		return r;
	list.low = p->chunks[entry.chunk].memory->low + entry.first;
	list.rule = p->chunks[entry.chunk].memory->rule + entry.first;
	if (!rows_part_merge(&own, &added, &list))
		return -E2BIG;
	entry.count = (u16)list.count;
	entry.used = 1;
	put_entry(p, index, entry);
	p->stats.installed++;
	return 0;
}

void row_pages_put_part(struct row_pages *p, u32 first, u64 number, const struct rows_file *swept)
{
	struct source *source = find_source(p, first);
	const struct rows_page *page = source ? rows_file_find(source->file, number) : NULL;
	u64 at = source ? number - source->range.first_number : 0;
	int r = -ENODATA;

	if (!page || at >= source->range.count || part_state(source, first + (u32)at) != PART_ASKED)
		return;
	if (swept)
		r = install_part(p, source, first + (u32)at, page, swept);
	/* Without room it is asked for once more. */
	source->parts[at] = r == 0 ? PART_HERE : r == -ENOSPC ? PART_NONE : PART_FAILED;
	*(source->is_unread ? &p->stats.pages_read : &p->stats.parts_swept) += r == 0;
	p->stats.parts_failed += r < 0;
}

/* ---- Age ------------------------------------------------------------------- */

/* Is that page where it was put last, in this chunk? */
static bool is_here(const struct row_pages *p, u32 number, u32 index)
{
	return p->entries[index].count && p->entries[index].chunk == number;
}

/* Moves a page to the chunk that is open. */
static int move(struct row_pages *p, u32 index)
{
	struct page_entry from = p->entries[index], to;
	const struct rows_chunk *old = p->chunks[from.chunk].memory;
	struct rows_chunk *new;
	int r = find_room(p, from.count, &to);

	if (r < 0)
		return r;
	new = p->chunks[to.chunk].memory;
	memcpy(&new->low[to.first], &old->low[from.first], from.count * sizeof(*new->low));
	memcpy(&new->rule[to.first], &old->rule[from.first], from.count * sizeof(*new->rule));
	p->live_rows -= from.count;
	put_entry(p, index, to);
	return 0;
}

/* From now until it is its turn to be cleaned, pages of a chunk have time to be used. */
static void forget_use(struct row_pages *p, u32 number)
{
	struct chunk *chunk = &p->chunks[number];

	for (u32 i = 0; i < chunk->page_count; i++)
		if (is_here(p, number, chunk->pages[i]))
			p->entries[chunk->pages[i]].used = 0;
}

/* What was used lately moves on, up to half of it: cleaning is to make room. */
static void clean(struct row_pages *p, u32 number, u64 now_ns)
{
	struct chunk *chunk = &p->chunks[number];
	u32 moved = 0;

	for (u32 i = 0; i < chunk->page_count; i++) {
		u32 index = chunk->pages[i], count = p->entries[index].count;

		if (!is_here(p, number, index))
			continue;
		if (p->entries[index].used && moved + count <= CHUNK_ROWS / 2 && move(p, index) == 0) {
			moved += count;
			continue;
		}
		take_out(p, index);
		p->stats.evicted++;
	}
	chunk->state = CHUNK_CLEANED;
	chunk->cleaned_ns = now_ns;
}

/* The next full chunk from the oldest on, or CHUNKS_MAX. */
static u32 next_full(struct row_pages *p)
{
	for (u32 i = 0; i < p->chunk_count; i++) {
		u32 number = (p->oldest + i) % p->chunk_count;

		if (p->chunks[number].state == CHUNK_FULL) {
			p->oldest = (number + 1) % p->chunk_count;
			return number;
		}
	}
	return CHUNKS_MAX;
}

static void free_cleaned(struct row_pages *p, u64 now_ns)
{
	for (u32 i = 0; i < p->chunk_count; i++) {
		struct chunk *chunk = &p->chunks[i];

		if (chunk->state != CHUNK_CLEANED || (!p->is_private && now_ns - chunk->cleaned_ns < GRACE_NS))
			continue;
		chunk->state = CHUNK_FREE;
		chunk->row_count = chunk->page_count = 0;
	}
}

void row_pages_collect(struct row_pages *p, u64 now_ns)
{
	u32 want = p->chunk_max / FREE_SHARE ? p->chunk_max / FREE_SHARE : p->chunk_max > 1;

	free_cleaned(p, now_ns);
	if (p->chunk_count < p->chunk_max)
		return;
	for (u32 i = 0; i < p->chunk_count; i++) {
		u32 number;

		if (count_chunks(p, CHUNK_FREE) + count_chunks(p, CHUNK_CLEANED) >= want)
			return;
		number = next_full(p);
		if (number == CHUNKS_MAX)
			return;
		clean(p, number, now_ns);
		forget_use(p, (number + p->chunk_count / 2) % p->chunk_count);
	}
}

/* ---- All ------------------------------------------------------------------- */

int row_pages_new(struct tracer_bpf *skel, u32 max_bytes, struct row_pages **ret_pages)
{
	_cleanup_(row_pages_freep) struct row_pages *p = calloc(1, sizeof(*p));
	static const struct unwind_rule none = { .kind = RULE_NONE };
	int r;

	if (!p)
		return -ENOMEM;
	p->is_private = !skel;
	p->chunks_fd = skel ? bpf_map__fd(skel->maps.chunks) : -1;
	p->chunk_max = max_bytes / sizeof(struct rows_chunk);
	p->chunk_max = p->chunk_max > CHUNKS_MAX ? CHUNKS_MAX : p->chunk_max ? p->chunk_max : 1;
	p->rules = map_memory(skel ? bpf_map__fd(skel->maps.rules) : -1, RULES_MAX * sizeof(*p->rules));
	p->entries = map_memory(skel ? bpf_map__fd(skel->maps.pages) : -1, PAGES_MAX * sizeof(*p->entries));
	if (!p->rules || !p->entries)
		return -errno;
	arena_init(&p->rule_arena, RULES_MAX * sizeof(struct unwind_rule));
	interner_init(&p->rule_ids, &p->rule_arena, RULES_MAX);
	if (interner_add(&p->rule_ids, &none, sizeof(none), NULL) == INTERNER_NONE)
		return -ENOMEM;
	r = ranges_init(&p->free_entries, PAGES_MAX);
	/* The first chunk is there before anything is sampled: a new process need not wait for it. */
	if (r == 0)
		r = add_chunks(p, 1);
	if (r < 0)
		return r;
	*ret_pages = TAKE(p);
	return 0;
}

void row_pages_free(struct row_pages *p)
{
	if (!p)
		return;
	for (u32 i = 0; i < p->chunk_count; i++)
		chunk_done(&p->chunks[i]);
	for (u32 i = 0; i < p->source_count; i++)
		source_done(&p->sources[i]);
	if (p->rules)
		munmap(p->rules, RULES_MAX * sizeof(*p->rules));
	if (p->entries)
		munmap(p->entries, PAGES_MAX * sizeof(*p->entries));
	if (p->borrowed)
		munmap(p->borrowed, sizeof(*p->borrowed));
	interner_done(&p->rule_ids);
	arena_done(&p->rule_arena);
	ranges_done(&p->free_entries);
	free(p->sources);
	free(p);
}

const struct page_entry *row_pages_at(const struct row_pages *p, u32 index)
{
	return index < PAGES_MAX ? &p->entries[index] : NULL;
}

const struct rows_chunk *row_pages_chunk(const struct row_pages *p, u32 index)
{
	if (index == CHUNK_BORROWED)
		return p->borrowed;
	return index < p->chunk_count ? p->chunks[index].memory : NULL;
}

const struct unwind_rule *row_pages_rule(const struct row_pages *p, u32 index)
{
	return index < RULES_MAX ? &p->rules[index] : NULL;
}

struct row_pages_stats row_pages_stats(const struct row_pages *p)
{
	struct row_pages_stats stats = p->stats;

	stats.used_bytes = p->live_rows * 4;
	return stats;
}
