// SPDX-License-Identifier: Apache-2.0
#include "tracer/record.h"

#include <string.h>

#include "kinds/kind.h"

size_t record_bytes(const struct trace_record *r)
{
	return sizeof(*r) + ((size_t)r->kernel_count + r->user_count) * 8 + r->slice_bytes +
	       (r->end == END_SLICE ? sizeof(struct slice_regs) : 0);
}

bool record_is_whole(const struct trace_record *record, size_t bytes)
{
	return bytes >= sizeof(*record) && bytes == record_bytes(record) && record->end < END_COUNT &&
	       record->kind < KIND_MAX && kind_list[record->kind] && record->request_words <= record->kernel_count &&
	       record->request_words <= REQUEST_WORDS_MAX &&
	       record->kernel_count - record->request_words <= KERNEL_FRAMES_MAX &&
	       record->user_count <= USER_WORDS_MAX &&
	       (!(record->flags & TRACE_REST) || !(record->kernel_count | record->user_count)) &&
	       (!(record->flags & TRACE_TOTALS) || record->user_count * 8 == sizeof(struct thread_totals)) &&
	       memchr(record->comm, '\0', sizeof(record->comm));
}

const u64 *record_user(const struct trace_record *record)
{
	return (const u64 *)(record + 1) + record->kernel_count;
}
