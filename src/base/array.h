/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays that grow by doubling; what is added is zeroed. */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for `need` elements of that size in *(void **)array, which has *cap. 0, or -ENOMEM: then all is as before.
 */
int array_reserve(void *array, uint32_t *cap, uint32_t need, size_t element_bytes);

#endif
