/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: a directory that goes with the test's process, and a store in it. */
#ifndef STORE_SCRATCH_TEST_H
#define STORE_SCRATCH_TEST_H

struct store;

/* Made at the first call. */
const char *scratch_directory(void);

/* Opens, or opens again, the store in it; nothing is to be lost or set aside. */
struct store *scratch_store(void);

#endif
