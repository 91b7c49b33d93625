/* SPDX-License-Identifier: Apache-2.0 */
/* What thread_labels.c and thread_labels_variables.c share. */
#ifndef VICTIMS_THREAD_LABELS_H
#define VICTIMS_THREAD_LABELS_H

#include <stdint.h>

/* What the variables of a thread are to say. */
struct labels_values {
	const char *tenant;	/* copied, up to 32 bytes with or without a NUL */
	const char *route;
	uint32_t job;
	int64_t offset;
};

struct labels_writer {
	void (*set)(const struct labels_values *values);
};

extern const struct labels_writer labels_writer;

#endif
