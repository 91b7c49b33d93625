/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), for file ids of a few KiB. Our own, since a crypto
 * library wants configuration files, which the reader process cannot open.
 */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

struct sha256 {
	uint32_t state[8];
	uint64_t len;		/* bytes added */
	uint8_t block[64];	/* the last len % 64 of them */
};

void sha256_init(struct sha256 *sha);
void sha256_add(struct sha256 *sha, const void *data, size_t len);

/* Ends it: sha is used up. */
void sha256_end(struct sha256 *sha, uint8_t ret_digest[SHA256_BYTES]);

#endif
