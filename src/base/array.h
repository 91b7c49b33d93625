/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays that grow by doubling. What is added is charged to whom the thread works for, until it no longer does
 * (base/budget.h): who keeps an array for longer has a charge for it, and array_grow_kept().
 */
#ifndef BASE_ARRAY_H
#define BASE_ARRAY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Makes room for `need` elements of that size in *(void **)array, which has *cap; what is added is zeroed. 0,
 * -ENOMEM or -E2BIG: then all is as before.
 */
int array_reserve(void *array, uint32_t *cap, uint32_t need, size_t element_bytes);

/* calloc(), charged in the same way; freed by free(). NULL: no memory, none of the budget, or the work is over. */
void *array_calloc(size_t count, size_t element_bytes);

#define ARRAY_GROW_MIN 4

/* As above but bounded, and what is added is not zeroed: makes room for one more than count; 0, -E2BIG or -ENOMEM. */
int array_grow(void *array, uint32_t *cap, uint32_t count, uint32_t max_count, size_t entry_bytes);

/* For an array that has a charge of its own. */
int array_grow_kept(void *array, uint32_t *cap, uint32_t count, uint32_t max_count, size_t entry_bytes);

#endif
