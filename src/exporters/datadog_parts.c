// SPDX-License-Identifier: Apache-2.0
#include "exporters/datadog_parts.h"

#include <errno.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "exporters/datadog_owner.h"
#include "pipeline/batch.h"
#include "profile/nameless.h"
#include "profile/split.h"
#include "wire/otlp/otlp.h"

#define KEY_BYTES_MAX ((size_t)1 << 20)
#define KEYS_BYTES_MAX ((size_t)64 << 20)

struct parting {
	const struct datadog_names *names;
	void (*emit)(void *arg, struct batch *batch);
	void *arg;
	struct arena keys;
	u64 samples;			/* that were emitted */
};

static bool part_key(void *arg, const struct profile_resource *resource, struct str *ret_key)
{
	struct parting *parting = arg;
	_cleanup_(buf_done) struct buf key;
	struct datadog_owner owner;

	buf_init(&key, KEY_BYTES_MAX);
	datadog_owner_of(parting->names, resource, &owner);
	datadog_owner_key(&owner, &key);
	if (buf_err(&key) < 0)
		return false;
	*ret_key = (struct str){ arena_copy(&parting->keys, key.data, key.len), (u32)key.len };
	return ret_key->at;
}

/* As OTLP, which takes least memory until it is sent. */
static int make_batch(const struct profile *part, struct batch **ret_batch)
{
	_cleanup_(profile_freep) struct profile *own = NULL;
	_cleanup_(buf_done) struct buf bytes;
	int r = split_copy(part, &own);

	buf_init(&bytes, BATCH_BYTES_MAX);
	if (r == 0)
		r = nameless_name_all(own);
	if (r == 0)
		r = otlp_encode(own, &bytes);
	if (r < 0)
		return r;
	*ret_batch = batch_from_bytes(&bytes, profile_samples(own));
	return *ret_batch ? 0 : -ENOMEM;
}

/* One that cannot be made does not keep the others from being sent. */
static int emit_part(void *arg, struct str key, const struct profile *part)
{
	struct parting *parting = arg;
	struct batch *batch;

	if (make_batch(part, &batch) < 0)
		return 0;
	parting->samples += batch_samples(batch);
	parting->emit(parting->arg, batch);
	return 0;
}

u64 datadog_parts_make(const struct profile *profile, const struct datadog_names *names,
		       void (*emit)(void *arg, struct batch *batch), void *arg)
{
	static const struct split_ops by_owner = { part_key, emit_part };
	struct parting parting = { .names = names, .emit = emit, .arg = arg };

	arena_init(&parting.keys, KEYS_BYTES_MAX);
	(void)profile_split(profile, &by_owner, &parting);	/* what is missing says so */
	arena_done(&parting.keys);
	return parting.samples;
}
