// SPDX-License-Identifier: Apache-2.0
/* A Go program that has written into its own labels: each 12 bytes are an offset in them and a word to put there. */
#include <stdint.h>
#include <unistd.h>

#include "lang/go/labels.h"
#include "lang/named.h"
#include "test/forge_damage.h"
#include "test/forge_labels.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static u8 image[FORGE_LABELS_BYTES];

static void put(u64 va, u64 word, size_t bytes)
{
	memcpy((void *)(uintptr_t)va, &word, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const texts[] = { "request", "17", "user", "alice", "kind", "some" };
	struct lang_process process = { .pid = (u32)getpid() };

	for (u64 kind = GO_MAP; kind <= GO_SLICE; kind++) {
		struct lang_names answer = { .label_count = 0 };
		struct named names;

		named_init(&names);
		answer.kept = &names;
		forge_labels(image, (u64)image, kind, texts, 3);
		forge_damage(data, size, (u64)image, sizeof(image), put);
		(void)go_labels_read(&process, kind, (u64)image, 0, &answer);
		named_done(&names);
	}
	return 0;
}
