// SPDX-License-Identifier: Apache-2.0
#include "pipeline/batch.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/lock.h"
#include "profile/profile.h"
#include "wire/otlp/otlp.h"
#include "wire/pb.h"

/* Of ProfilesData. */
#define OTLP_RESOURCE_PROFILES 1

struct batch {
	_Atomic u32 references;
	pthread_mutex_t lock;		/* of the forms, while one is made from the other */
	u8 payer;			/* for whom it was made: pays for the form that is made later, too */
	u64 sender;
	bool has_bytes;			/* else there is a profile */
	struct buf bytes;
	struct profile *profile;	/* or NULL */
	u64 samples;
};

static struct batch *batch_new(void)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	atomic_init(&batch->references, 1);
	batch->payer = (u8)budget_payer();
	batch->sender = budget_sender();
	pthread_mutex_init(&batch->lock, NULL);
	buf_init(&batch->bytes, BATCH_BYTES_MAX);
	return batch;
}

static void batch_free(struct batch *batch)
{
	buf_done(&batch->bytes);
	profile_free(batch->profile);
	pthread_mutex_destroy(&batch->lock);
	free(batch);
}

struct batch *batch_from_bytes(struct buf *bytes, u64 samples)
{
	struct batch *batch = batch_new();

	if (!batch)
		return NULL;
	/* Batches wait in queues: what a buffer has to spare is given back if that is much. */
	if (bytes->cap - bytes->len > bytes->len / 8)
		buf_trim(bytes);
	batch->bytes = *bytes;
	batch->has_bytes = true;
	batch->samples = samples;
	buf_init(bytes, bytes->max);
	return batch;
}

struct batch *batch_from_profile(struct profile *profile)
{
	struct batch *batch = batch_new();

	if (!batch)
		return NULL;
	batch->profile = profile;
	batch->samples = profile_samples(profile);
	return batch;
}

struct batch *batch_ref(struct batch *batch)
{
	atomic_fetch_add_explicit(&batch->references, 1, memory_order_relaxed);
	return batch;
}

/* What others did with the batch happened before its last holder edits or frees it. */
void batch_unref(struct batch *batch)
{
	if (batch && atomic_fetch_sub_explicit(&batch->references, 1, memory_order_acq_rel) == 1)
		batch_free(batch);
}

u64 batch_samples(const struct batch *batch)
{
	return batch->samples;
}

u64 batch_sender(const struct batch *batch)
{
	return batch->sender;
}

void batch_set_sender(struct batch *batch, u64 sender)
{
	batch->sender = sender;
}

u32 batch_resources(struct batch *batch)
{
	struct pb_field field;
	struct pb reader;
	u32 count = 0;

	LOCKED(&batch->lock);
	reader = pb_from(batch->bytes.data, batch->bytes.len);
	if (batch->profile)
		count = batch->profile->resources.count;
	else
		while (pb_next(&reader, &field))
			count += field.number == OTLP_RESOURCE_PROFILES;
	return count;
}

size_t batch_weight(struct batch *batch)
{
	LOCKED(&batch->lock);
	return sizeof(*batch) + batch->bytes.cap + (batch->profile ? profile_bytes(batch->profile) : 0);
}

bool batch_is_encoded(struct batch *batch)
{
	LOCKED(&batch->lock);
	return batch->has_bytes && !batch->profile;
}

static int make_profile(struct batch *batch)
{
	struct budget_scope scope;
	int r;

	if (batch->profile)
		return 0;
	budget_begin(&scope, batch->payer);
	budget_set_sender(&scope, batch->sender);
	r = otlp_decode(batch->bytes.data, batch->bytes.len, NULL, &batch->profile);
	budget_end(&scope);
	return r;
}

static int make_bytes(struct batch *batch)
{
	int r;

	if (batch->has_bytes)
		return 0;
	r = otlp_encode(batch->profile, &batch->bytes);
	if (r < 0) {
		buf_done(&batch->bytes);
		return r;
	}
	batch->has_bytes = true;
	return 0;
}

int batch_profile(struct batch *batch, const struct profile **ret_profile)
{
	int r;

	pthread_mutex_lock(&batch->lock);
	r = make_profile(batch);
	pthread_mutex_unlock(&batch->lock);
	if (r < 0)
		return r;
	*ret_profile = batch->profile;
	return 0;
}

int batch_bytes(struct batch *batch, const void **ret_at, size_t *ret_bytes)
{
	int r;

	pthread_mutex_lock(&batch->lock);
	r = make_bytes(batch);
	pthread_mutex_unlock(&batch->lock);
	if (r < 0)
		return r;
	*ret_at = batch->bytes.data;
	*ret_bytes = batch->bytes.len;
	return 0;
}

/* A batch of its own with the same contents, by way of the bytes: one of those who share it will want them anyway. */
static int copy(struct batch *batch, struct batch **ret_copy)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	size_t bytes;
	const void *at;
	int r;

	r = batch_bytes(batch, &at, &bytes);
	if (r < 0)
		return r;
	r = otlp_decode(at, bytes, NULL, &profile);
	if (r < 0)
		return r;
	*ret_copy = batch_from_profile(profile);
	if (!*ret_copy)
		return -ENOMEM;
	(*ret_copy)->sender = batch->sender;
	profile = NULL;
	return 0;
}

int batch_edit(struct batch **batch, struct profile **ret_profile)
{
	bool is_shared = atomic_load_explicit(&(*batch)->references, memory_order_acquire) > 1;
	struct batch *own = *batch;
	int r;

	r = is_shared ? copy(*batch, &own) : make_profile(own);
	if (r < 0)
		return r;
	if (is_shared)
		batch_unref(*batch);
	*batch = own;
	buf_done(&own->bytes);
	own->has_bytes = false;
	*ret_profile = own->profile;
	return 0;
}

void batch_edited(struct batch *batch)
{
	batch->samples = profile_samples(batch->profile);
}
