// SPDX-License-Identifier: Apache-2.0
#include "analysis/owner.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "profile/any.h"

/* What an attribute says about the owner. */
enum owner_role { ROLE_NONE, ROLE_PID, ROLE_PROCESS, ROLE_PROCESS_PATH, ROLE_TID, ROLE_THREAD, ROLE_COUNT };

static const struct {
	const char *key;
	enum owner_role role;
} roles[] = {
	{ "process.pid", ROLE_PID },
	{ "pid", ROLE_PID },
	{ "process_id", ROLE_PID },
	{ "process.executable.name", ROLE_PROCESS },
	{ "process.name", ROLE_PROCESS },
	{ "process", ROLE_PROCESS },
	{ "process.executable.path", ROLE_PROCESS_PATH },
	{ "thread.id", ROLE_TID },
	{ "tid", ROLE_TID },
	{ "thread id", ROLE_TID },
	{ "thread_id", ROLE_TID },
	{ "thread.name", ROLE_THREAD },
	{ "thread name", ROLE_THREAD },
	{ "thread", ROLE_THREAD },
	{ "comm", ROLE_THREAD },
};

struct owner {
	const struct any *at[ROLE_COUNT];
};

struct owner_finder {
	const struct profile *profile;
	enum summary_by by;
	struct frame_set *set;
	struct owner resource;
	u8 *role_of;		/* by attribute */
};

static enum owner_role role_of_key(struct str key)
{
	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
		if (str_is(key, roles[i].key))
			return roles[i].role;
	}
	return ROLE_NONE;
}

void owner_finder_free(struct owner_finder *finder)
{
	if (finder)
		free(finder->role_of);
	free(finder);
}

struct owner_finder *owner_finder_new(const struct profile *profile, enum summary_by by, struct frame_set *set)
{
	_cleanup_(owner_finder_freep) struct owner_finder *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct owner_finder){ .profile = profile, .by = by, .set = set };
	f->role_of = calloc((size_t)profile->attributes.count + 1, 1);
	if (!f->role_of)
		return NULL;
	for (u32 i = 0; i < profile->attributes.count; i++)
		f->role_of[i] = (u8)role_of_key(profile->strings.at[profile->attributes.at[i].key]);
	return TAKE(f);
}

void owner_finder_resource(struct owner_finder *finder, const struct profile_resource *resource)
{
	finder->resource = (struct owner){ 0 };
	for (u32 i = 0; i < resource->attribute_count; i++) {
		const struct keyvalue *kv = &resource->attributes[i];

		finder->resource.at[kv->key.len ? role_of_key(kv->key) : ROLE_NONE] = &kv->value;
	}
}

/* Labels of pprof files hold numbers as text, too. */
static s64 number_of(const struct any *value)
{
	s64 n = 0;

	if (value && value->kind == ANY_INT)
		return value->integer;
	if (!value || value->kind != ANY_STRING || !value->string.len || value->string.len > 18)
		return -1;
	for (u32 i = 0; i < value->string.len; i++) {
		if (value->string.at[i] < '0' || value->string.at[i] > '9')
			return -1;
		n = n * 10 + (value->string.at[i] - '0');
	}
	return n;
}

static struct str process_name(const struct owner *owner)
{
	struct str name = any_text(owner->at[ROLE_PROCESS]);

	return name.len ? name : str_base_name(any_text(owner->at[ROLE_PROCESS_PATH]));
}

u32 owner_finder_frame(struct owner_finder *finder, const struct profile_sample *sample)
{
	struct owner owner = finder->resource;
	struct frame frame = { .type = FRAME_LABEL };
	struct str thread, process;

	if (finder->by != SUMMARY_PROCESS && finder->by != SUMMARY_THREAD)
		return 0;
	for (u32 i = 0; i < sample->attributes.count; i++) {
		u32 attribute = sample->attributes.at[i];

		owner.at[finder->role_of[attribute]] = &finder->profile->attributes.at[attribute].value;
	}
	thread = any_text(owner.at[ROLE_THREAD]);
	process = process_name(&owner);
	/* Kernel threads have no executable, processes that vanished may have none: the other name will do. */
	frame.pid = number_of(owner.at[ROLE_PID]);
	if (finder->by == SUMMARY_PROCESS) {
		frame.name = process.len ? process : thread;
		frame.tid = -1;
	} else {
		frame.name = thread.len ? thread : process;
		frame.tid = number_of(owner.at[ROLE_TID]);
	}
	if (!frame.name.len)
		frame.name = STR("[unknown]");
	return frame_set_add(finder->set, &frame);
}
