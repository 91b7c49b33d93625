/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of a queue, on disk until they are no longer needed: one file each,
 * in a directory of their owner's.
 *
 *	DIRECTORY/exporter_otlp_2fbackend/	the owner's id, escaped
 *		lock				held while it is open
 *		0000000000000001.rec		in the order they came
 *		new-PID-2			being written
 *
 *	record = "wickrec1", then little-endian:
 *		 u64 samples, u64 bytes, u64 xxh64 of both numbers and the payload, then the payload: OTLP
 *
 *  - A record is there from the rename of its whole, synced file on until it is unlinked: whatever moment the
 *    process or the machine ends at, a reader finds it whole or not at all. What is damaged
 *    by other hands is told by its sum, removed and counted.
 *  - What does not fit (limits, a full disk) fails with nothing left behind.
 *
 * Any thread may call put, get and remove. Reading checks everything: the directory may have been tampered with.
 */
#ifndef PIPELINE_STORAGE_H
#define PIPELINE_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/types.h"

struct buf;
struct storage;

#define STORAGE_HEADER_BYTES 32u
#define STORAGE_RECORDS_MAX 1000000u

struct storage_options {
	u64 bytes_max;			/* of all records; 0: no limit but the disk's */
	bool sync;			/* fsync files and directory */
	s64 lock_timeout_ns;		/* how long to wait for another process to let go */
};

/* What an extension offers: the records of one owner ("exporter/otlp/backend"). */
struct storage_ops {
	int (*open)(void *self, const char *owner, struct storage **ret_storage, struct buf *why);
};

/* -EBUSY: another process, or another owner in this one, has it open. `why` gets a sentence. */
int storage_open(const char *directory, const char *owner, const struct storage_options *options,
		 struct storage **ret_storage, struct buf *why);
void storage_close(struct storage *storage);
DEFINE_CLEANUP(struct storage *, storage_close)

struct storage_record {
	u64 id;				/* from 1; later ones are larger */
	u64 samples, bytes;		/* of the payload */
};

/* Those that an earlier process left, by age; good until close. */
u32 storage_left_behind(const struct storage *storage, const struct storage_record **ret_records);

/* -EDQUOT past bytes_max; -ENOSPC, -EIO, ... as the file system says. */
int storage_put(struct storage *storage, const void *payload, size_t bytes, u64 samples, u64 *ret_id);

/* Appends the payload. -EBADMSG: it is not what was written; -ENOENT; -ENOMEM. */
int storage_get(struct storage *storage, u64 id, struct buf *payload, u64 *ret_samples);
void storage_remove(struct storage *storage, u64 id, size_t bytes);

/* Files that were no records when it was opened, and were removed. */
u64 storage_damaged_count(const struct storage *storage);

/* Is this payload what the STORAGE_HEADER_BYTES of the header say? -EBADMSG. */
int storage_verify(const u8 *header, const void *payload, size_t bytes, u64 *ret_samples);

#endif
