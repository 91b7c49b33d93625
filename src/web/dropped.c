// SPDX-License-Identifier: Apache-2.0
#include "web/dropped.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/json_write.h"
#include "base/lock.h"
#include "exporters/late_names.h"
#include "pipeline/ticker.h"
#include "profile/profile.h"
#include "wire/format.h"

#define PLAIN_BYTES_MAX (4 * DROPPED_BYTES_MAX)
#define STORE_BYTES_MAX ((u64)64 << 20)
#define BUDGET_PART 8
#define LOOK_EACH_NS (60 * SECOND_NS)
#define NAME_BYTES 128

struct dropped_file {
	char id[DROPPED_ID_BYTES];	/* "": there is none in this place */
	char name[NAME_BYTES];
	const struct format_ops *format;
	struct store *store;
	struct store_span span;
	u64 samples;
	bool is_timed;			/* it says when its samples were taken */
	u64 used_ns;
	u32 users;
	struct budget_charge charge;	/* of what SQLite has; dictionaries are held by themselves */
};

struct dropped {
	const struct component_setup *setup;
	struct ticker *ticker;
	pthread_mutex_t reading;	/* one at a time */
	pthread_mutex_t lock;		/* of what follows */
	struct dropped_file at[DROPPED_MAX];
};

/* ---- Places ------------------------------------------------------------------------------- */

static void forget(struct dropped_file *file)
{
	store_close(file->store);
	budget_hold(&file->charge, 0);
	*file = (struct dropped_file){ 0 };
}

static struct dropped_file *find(struct dropped *d, const char *id)
{
	for (u32 i = 0; i < DROPPED_MAX; i++)
		if (*id && !strcmp(d->at[i].id, id))
			return &d->at[i];
	return NULL;
}

/* One that is free, or the one that nobody has asked for longest; NULL: all are being asked. */
static struct dropped_file *make_place(struct dropped *d)
{
	struct dropped_file *oldest = NULL;

	for (u32 i = 0; i < DROPPED_MAX; i++) {
		struct dropped_file *file = &d->at[i];

		if (!*file->id)
			return file;
		if (!file->users && (!oldest || file->used_ns < oldest->used_ns))
			oldest = file;
	}
	if (oldest)
		forget(oldest);
	return oldest;
}

void dropped_expire(struct dropped *d, u64 now_ns)
{
	LOCKED(&d->lock);
	for (u32 i = 0; i < DROPPED_MAX; i++)
		if (*d->at[i].id && !d->at[i].users && now_ns - d->at[i].used_ns > DROPPED_AGE_NS)
			forget(&d->at[i]);
}

static void tick(void *arg)
{
	dropped_expire(arg, monotonic_ns());
}

/* ---- Reading ------------------------------------------------------------------------------ */

static void count_set(const struct profile_set *set, struct dropped_file *file)
{
	file->samples += set->sample_count;
	for (u32 i = 0; i < set->sample_count && !file->is_timed; i++)
		file->is_timed = set->samples[i].time_count;
}

static void count_samples(const struct profile *profile, struct dropped_file *file)
{
	for (u32 r = 0; r < profile->resources.count; r++)
		for (u32 s = 0; s < profile->resources.at[r].scope_count; s++) {
			const struct profile_scope *scope = &profile->resources.at[r].scopes[s];

			for (u32 i = 0; i < scope->set_count; i++)
				count_set(&scope->sets[i], file);
		}
}

static u64 store_bytes_max(void)
{
	u64 part = budget_limit() / BUDGET_PART;

	return part < STORE_BYTES_MAX ? part : STORE_BYTES_MAX;
}

static int new_id(char id[DROPPED_ID_BYTES])
{
	u8 random[(DROPPED_ID_BYTES - 1) / 2];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EAGAIN;
	hex_write(random, sizeof(random), id);
	id[DROPPED_ID_BYTES - 1] = '\0';
	return 0;
}

/* Names for what has only addresses, as far as this machine has the files. */
static void add_names(const struct dropped *d, struct store *store)
{
	struct budget_scope scope;

	if (!d->setup)
		return;
	/* They are kept by the store, which has its own limit. */
	budget_begin(&scope, BUDGET_NOBODY);
	late_names_once(d->setup, store);
	budget_end(&scope);
}

static int read_file(const struct dropped *d, const void *at, size_t bytes, struct dropped_file *file)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r = format_read_bytes(at, bytes, file->name, PLAIN_BYTES_MAX, &file->format, &profile);

	if (r < 0)
		return r;
	count_samples(profile, file);
	if (!file->samples)
		return -ENODATA;
	r = store_of_profile(profile, "localhost", clock_ns(CLOCK_REALTIME), store_bytes_max(), &file->store,
			     &file->span);
	if (r == 0)
		add_names(d, file->store);
	return r;
}

/* ---- Answers ------------------------------------------------------------------------------ */

static void put_text(struct json_write *j, const char *key, const char *text)
{
	json_write_key(j, key);
	json_write_string(j, text, strlen(text));
}

static void put_file(struct json_write *j, const struct dropped_file *file)
{
	json_write_open(j, '{');
	put_text(j, "id", file->id);
	put_text(j, "name", file->name);
	put_text(j, "format", file->format->name);
	json_write_key(j, "from");
	json_write_double(j, (double)file->span.first_ns / 1e9);
	json_write_key(j, "to");
	json_write_double(j, (double)file->span.last_ns / 1e9);
	json_write_key(j, "timed");
	json_write_bool(j, file->is_timed);
	json_write_key(j, "samples");
	json_write_double(j, (double)file->samples);
	json_write_close(j, '}');
}

static void put_failure(int r, const struct dropped_file *file, struct api_answer *answer)
{
	char text[512];
	int len = 0;

	if (r == -EBADMSG && file->format)
		snprintf(text, sizeof(text), "this looks like %s, but it is broken or cut", file->format->name);
	else if (r == -EBADMSG || r == -EOPNOTSUPP || r == -EPROTONOSUPPORT) {
		len = snprintf(text, sizeof(text), "this is no profile that can be read; these can be:");
		for (u32 i = 0; formats[i]; i++)
			if (formats[i]->decode)
				len += snprintf(text + len, sizeof(text) - (size_t)len, " %s,", formats[i]->name);
		snprintf(text + len - 1, sizeof(text) - (size_t)len, " (also packed by gzip or zstd)");
	} else if (r == -ENODATA)
		snprintf(text, sizeof(text), "there are no samples in this file");
	else
		snprintf(text, sizeof(text), "this file needs more memory than there is for it (%llu MiB): cut it, or "
			 "let wick report read it", store_bytes_max() >> 20);
	api_error(answer, r == -ENOMEM || r == -ENOSPC || r == -E2BIG ? 413 : r == -EAGAIN ? 500 : 400, text);
}

/* The place is taken over; the name and what it holds are the file's. */
static int keep(struct dropped *d, struct dropped_file *file)
{
	struct dropped_file *place;

	LOCKED(&d->lock);
	place = make_place(d);
	if (!place)
		return -EBUSY;
	file->used_ns = monotonic_ns();
	*place = *file;
	budget_hold(&place->charge, place->span.bytes);
	return 0;
}

static void add_file(struct dropped *d, const char *name, const void *at, size_t bytes, struct api_answer *answer)
{
	struct json_write j = { .b = answer->body };
	struct dropped_file file = { 0 };
	int r = new_id(file.id);

	snprintf(file.name, sizeof(file.name), "%s", *name ? name : "a file");
	if (r == 0)
		r = read_file(d, at, bytes, &file);
	if (r < 0) {
		put_failure(r, &file, answer);
		return;
	}
	put_file(&j, &file);
	if (keep(d, &file) < 0) {
		store_close(file.store);
		api_error(answer, 503, "too many files are being asked; send it again in a moment");
	}
}

static void begin_answer(struct api_answer *answer)
{
	answer->status = 200;
	answer->content_type = "application/json";
	answer->file_name[0] = '\0';
}

void dropped_add(struct dropped *d, const char *name, const void *at, size_t bytes, struct api_answer *answer)
{
	begin_answer(answer);
	if (pthread_mutex_trylock(&d->reading)) {
		api_error(answer, 503, "another file is being read; send it again in a moment");
		return;
	}
	add_file(d, name, at, bytes, answer);
	pthread_mutex_unlock(&d->reading);
}

void dropped_list(struct dropped *d, struct api_answer *answer)
{
	struct json_write j = { .b = answer->body };

	begin_answer(answer);
	LOCKED(&d->lock);
	json_write_open(&j, '[');
	for (u32 i = 0; i < DROPPED_MAX; i++)
		if (*d->at[i].id)
			put_file(&j, &d->at[i]);
	json_write_close(&j, ']');
}

/* ---- Asking ------------------------------------------------------------------------------- */

bool dropped_forget(struct dropped *d, const char *id)
{
	struct dropped_file *file;

	LOCKED(&d->lock);
	file = find(d, id);
	if (!file)
		return false;
	/* It goes with the next look, when nobody asks any more. */
	if (file->users)
		file->used_ns = 0;
	else
		forget(file);
	return true;
}

struct store *dropped_borrow(struct dropped *d, const char *id)
{
	struct dropped_file *file;

	LOCKED(&d->lock);
	file = find(d, id);
	if (!file)
		return NULL;
	file->users++;
	file->used_ns = monotonic_ns();
	return file->store;
}

bool dropped_return(struct dropped *d, struct store *store)
{
	LOCKED(&d->lock);
	for (u32 i = 0; store && i < DROPPED_MAX; i++)
		if (d->at[i].store == store) {
			d->at[i].users--;
			return true;
		}
	return false;
}

/* ---- Life --------------------------------------------------------------------------------- */

int dropped_new(const struct component_setup *setup, struct dropped **ret_dropped)
{
	struct dropped *d = calloc(1, sizeof(*d));
	int r;

	if (!d)
		return -ENOMEM;
	d->setup = setup;
	pthread_mutex_init(&d->reading, NULL);
	pthread_mutex_init(&d->lock, NULL);
	r = ticker_start(&(struct ticker_options){ .name = "wick: dropped", .delay_ns = LOOK_EACH_NS,
						   .interval_ns = LOOK_EACH_NS, .tick = tick, .arg = d },
			 &d->ticker);
	if (r < 0) {
		dropped_free(d);
		return r;
	}
	*ret_dropped = d;
	return 0;
}

void dropped_free(struct dropped *d)
{
	if (!d)
		return;
	ticker_stop(d->ticker);
	for (u32 i = 0; i < DROPPED_MAX; i++)
		forget(&d->at[i]);
	pthread_mutex_destroy(&d->lock);
	pthread_mutex_destroy(&d->reading);
	free(d);
}
