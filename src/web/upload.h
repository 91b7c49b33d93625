/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with symbols that somebody sends: kept in the store by its build id, and
 * what the store has of that executable gets its names at once. One at a time;
 * the file is looked at by a reader process that lives as long as the request.
 */
#ifndef WEB_UPLOAD_H
#define WEB_UPLOAD_H

#include "web/api.h"

#define UPLOAD_BYTES_MAX ((size_t)128 << 20)

/* Always answers; docs/api.md says how. */
void upload_symbols(struct store *store, const void *at, size_t bytes, struct api_answer *answer);

#endif
