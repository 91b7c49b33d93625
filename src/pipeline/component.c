// SPDX-License-Identifier: Apache-2.0
#include "pipeline/component.h"

#include <errno.h>

#include "pipeline/batch.h"

/* The first error, but a permanent one before -EAGAIN: trying again would give twice to those who took it. */
static int worse(int a, int b)
{
	return a == 0 || (a == -EAGAIN && b < 0) ? b : a;
}

int consumers_send(const struct consumers *consumers, struct batch *batch)
{
	int r = 0;

	for (u32 i = 0; i < consumers->count; i++) {
		const struct consumer *next = &consumers->at[i];
		bool is_last = i + 1 == consumers->count;

		r = worse(r, next->consume(next->self, is_last ? batch : batch_ref(batch)));
	}
	if (!consumers->count)
		batch_unref(batch);
	return r;
}
