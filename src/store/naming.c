// SPDX-License-Identifier: Apache-2.0
/* Late names of a store: what lacks one, what was found, on disk and in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "profile/any.h"
#include "store/sqlite.h"

bool store_frame_place(const struct dict *dict, const struct dict_frame *frame, u64 *ret_address)
{
	return names_frame_is_place(dict_string(dict, frame->type), dict_string(dict, frame->name),
				    dict_string(dict, dict_exe(dict, frame->exe)->path), frame->address, ret_address);
}

/* ---- From disk ------------------------------------------------------------------------------- */

static int load_name(void *arg, const struct db_name *name)
{
	struct name_function function = {
		.start = name->start,
		.name = { name->function, name->function_bytes },
		.file = { name->file, name->file_bytes },
		.source = name->source < NAME_SOURCE_COUNT ? (enum name_source)name->source : NAME_NONE,
	};
	int r = names_put(arg, (struct str){ name->build_id, name->build_id_bytes }, name->address, &function);

	/* What there is no room for stays an address. */
	return r == -ENOMEM ? r : 0;
}

static void want_frames(struct names *names, const struct dict *dict)
{
	for (u32 i = 1; i < dict->exes.count; i++)
		names_note_path(names, dict_string(dict, dict_exe(dict, i)->build_id),
				dict_string(dict, dict_exe(dict, i)->path));
	for (u32 i = 1; i < dict->frames.count; i++) {
		const struct dict_frame *frame = dict_frame(dict, i);
		const struct dict_exe *exe = dict_exe(dict, frame->exe);
		u64 address;

		if (exe->build_id && store_frame_place(dict, frame, &address))
			(void)names_want(names, dict_string(dict, exe->build_id), dict_string(dict, exe->path),
					 address);
	}
}

int store_load_names(struct sqlite_store *store)
{
	_cleanup_(names_freep) struct names *names = names_new();
	int r = names ? db_each_name(store->db, load_name, names) : -ENOMEM;

	if (r < 0)
		return r;
	/* Of those in memory: what others lack was looked for when they were. */
	pthread_mutex_lock(&store->dict_lock);
	for (u32 i = 0; i < store->epoch_count; i++)
		if (store->epochs[i].dict)
			want_frames(names, store->epochs[i].dict);
	pthread_mutex_unlock(&store->dict_lock);
	names_free(store->names);
	store->names = TAKE(names);
	return 0;
}

static void mark_exes(const struct names *names, const struct dict *dict, bool *used)
{
	for (u32 i = 1; i < dict->exes.count; i++) {
		s64 number = names_exe_find(names, dict_string(dict, dict_exe(dict, i)->build_id));

		if (number >= 0)
			used[number] = true;
	}
}

int store_forget_names(struct sqlite_store *store)
{
	_cleanup_(freep) bool *used = calloc(NAMES_EXES_MAX, sizeof(*used));
	const struct names_exe *exe;
	int r = 0;

	if (!used)
		return -ENOMEM;
	for (u32 i = 0; i < store->epoch_count && r == 0; i++) {
		const struct dict *dict;

		r = dicts_get(store, store->db, &store->epochs[i], &dict);
		if (r == 0) {
			mark_exes(store->names, dict, used);
			dicts_put(store, &store->epochs[i]);
		}
		r = r == -EBADMSG ? 0 : r;
	}
	/* One more time, when there is room to look. */
	if (r < 0)
		return r == -ENOMEM ? 0 : r;
	for (u32 i = 0; r == 0 && (exe = names_exe(store->names, i)); i++)
		if (!used[i])
			r = db_drop_names(store->db, exe->build_id.at, exe->build_id.len);
	return r < 0 ? r : store_load_names(store);
}

/* ---- What lacks a name ------------------------------------------------------------------------- */

static int take_unnamed(struct sqlite_store *store, struct names_exe *exe, u32 until, struct store_unnamed *ret_unnamed)
{
	struct store_unnamed unnamed = { 0 };

	unnamed.addresses = reallocarray(NULL, STORE_UNNAMED_MAX, sizeof(*unnamed.addresses));
	unnamed.build_id = strndup(exe->build_id.at, exe->build_id.len);
	unnamed.path = strndup(exe->path.len ? exe->path.at : "", exe->path.len);
	if (!unnamed.addresses || !unnamed.build_id || !unnamed.path) {
		store_unnamed_done(&unnamed);
		return -ENOMEM;
	}
	unnamed.count = names_unnamed(store->names, exe->newest, until, unnamed.addresses, STORE_UNNAMED_MAX);
	*ret_unnamed = unnamed;
	return 0;
}

void store_unnamed_done(struct store_unnamed *unnamed)
{
	free(unnamed->addresses);
	free(unnamed->build_id);
	free(unnamed->path);
	*unnamed = (struct store_unnamed){ 0 };
}

/* New addresses are looked for at once, old ones now and then: 1 if there were some. */
static int try_exe(struct sqlite_store *store, struct names_exe *exe, u64 now_ns, u64 retry_ns,
		   struct store_unnamed *ret_unnamed)
{
	bool again = exe->tried_ns && now_ns - exe->tried_ns >= retry_ns;
	int r;

	if (!exe->newest || (exe->newest == exe->tried && !again))
		return 0;
	r = take_unnamed(store, exe, again ? 0 : exe->tried, ret_unnamed);
	if (r < 0)
		return r;
	exe->tried = exe->newest;
	if (again || !exe->tried_ns)
		exe->tried_ns = now_ns;
	if (ret_unnamed->count)
		return 1;
	store_unnamed_done(ret_unnamed);
	return 0;
}

int store_next_unnamed(struct store *base, u64 now_ns, u64 retry_ns, struct store_unnamed *ret_unnamed)
{
	struct sqlite_store *store = sqlite_store(base);
	struct names_exe *exe;
	int r = 0;

	pthread_rwlock_wrlock(&store->lock);
	for (u32 i = 0; r == 0 && (exe = names_exe(store->names, i)); i++)
		r = try_exe(store, exe, now_ns, retry_ns, ret_unnamed);
	pthread_rwlock_unlock(&store->lock);
	return r;
}

int store_unnamed_of(struct store *base, const char *build_id, struct store_unnamed *ret_unnamed)
{
	struct sqlite_store *store = sqlite_store(base);
	struct str id = { build_id, (u32)strlen(build_id) };
	s64 number;
	int r = -ENOENT;

	pthread_rwlock_rdlock(&store->lock);
	number = names_exe_find(store->names, id);
	if (number >= 0)
		r = take_unnamed(store, names_exe(store->names, (u32)number), 0, ret_unnamed);
	pthread_rwlock_unlock(&store->lock);
	return r;
}

/* ---- What was found ------------------------------------------------------------------------------ */

static struct str text_of(const char *text)
{
	return (struct str){ text ? text : "", text ? (u32)strlen(text) : 0 };
}

/* In memory; the bits of each go to ret_bits. How many addresses have a name now that had none; ret_news: any news? */
static int put_in_memory(struct sqlite_store *store, const char *build_id, const struct store_name *at, u32 count,
			 int *ret_bits, bool *ret_news)
{
	int named = 0;

	pthread_rwlock_wrlock(&store->lock);
	for (u32 i = 0; i < count; i++) {
		ret_bits[i] = names_put(store->names, text_of(build_id), at[i].address,
					&(struct name_function){ .start = at[i].start, .name = text_of(at[i].function),
								 .file = text_of(at[i].file),
								 .source = at[i].source });
		*ret_news |= ret_bits[i] > 0;
		named += ret_bits[i] >= 0 && ret_bits[i] & NAMES_NAMED;
	}
	pthread_rwlock_unlock(&store->lock);
	return named;
}

static int put_on_disk(struct sqlite_store *store, const char *build_id, const struct store_name *at, u32 count,
		       const int *bits)
{
	struct str id = text_of(build_id);
	int r = db_begin(store->db);

	for (u32 i = 0; i < count && r == 0; i++) {
		bool news = bits[i] > 0 && bits[i] & NAMES_NEWS;
		struct db_name name = { .build_id = id.at, .build_id_bytes = id.len, .address = at[i].address,
					.start = at[i].start, .source = at[i].source };

		if (bits[i] <= 0)
			continue;
		if (news) {
			name.function = at[i].function;
			name.function_bytes = text_of(at[i].function).len;
			name.file = at[i].file;
			name.file_bytes = text_of(at[i].file).len;
		}
		r = db_put_name(store->db, &name);
	}
	if (r == 0)
		return db_commit(store->db);
	db_rollback(store->db);
	return r;
}

int store_put_names(struct store *base, const char *build_id, const struct store_name *at, u32 count)
{
	struct sqlite_store *store = sqlite_store(base);
	_cleanup_(freep) int *bits = calloc((size_t)count + 1, sizeof(*bits));
	bool news = false;
	int named, r = 0;

	if (!bits)
		return -ENOMEM;
	pthread_mutex_lock(&store->write_lock);
	named = put_in_memory(store, build_id, at, count, bits, &news);
	if (news)
		r = put_on_disk(store, build_id, at, count, bits);
	pthread_mutex_unlock(&store->write_lock);
	if (news)
		atomic_fetch_add(&store->generation, 1);
	return r < 0 ? r : named;
}

void store_note_upload(struct store *base)
{
	struct sqlite_store *store = sqlite_store(base);
	atomic_fetch_add(&store->uploads, 1);
}

u64 store_uploads(struct store *base)
{
	struct sqlite_store *store = sqlite_store(base);
	return atomic_load(&store->uploads);
}
