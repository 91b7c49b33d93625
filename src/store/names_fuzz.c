// SPDX-License-Identifier: Apache-2.0
/* Names of places as senders make them up; then a row of wants and puts, checked against the simplest model of them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/names.h"

#define ADDRESSES 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct model {
	bool wanted[ADDRESSES], has_name[ADDRESSES];
};

static void check(struct names *names, const struct model *model, struct str id)
{
	const struct names_exe *exe = names_exe(names, 0);
	u64 unnamed[ADDRESSES];
	u32 count = exe ? names_unnamed(names, exe->newest, 0, unnamed, ADDRESSES) : 0;

	for (u32 i = 0; i < ADDRESSES; i++) {
		const struct name_function *function = names_find(names, id, i);

		if (model->has_name[i] && (!function || !function->name.len))
			abort();
	}
	for (u32 i = 0; i < count; i++)
		if (unnamed[i] >= ADDRESSES || !model->wanted[unnamed[i]])
			abort();
}

static void step(struct names *names, struct model *model, struct str id, uint8_t what, uint8_t where)
{
	static const char *const texts[] = { "", "one", "two", "three" };
	const char *text = texts[what & 3];
	u64 address = where & 15, start = where >> 4;
	struct name_function function = { .start = start, .name = { text, (u32)strlen(text) }, .source = NAME_LOCAL };

	model->wanted[address] = true;
	if (what & 4)
		(void)names_want(names, id, STR("/bin/x"), address);
	else if (names_put(names, id, address, &function) < 0)
		abort();
	else if (*text)
		model->has_name[address] = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct names *names = names_new();
	struct str id = STR("0123"), text = { (const char *)data, (u32)size };
	struct model model = { 0 };
	u64 address;

	if (!names)
		return 0;
	for (u32 i = 0; i < size && i < 32; i++)
		(void)names_is_place(text, (struct str){ (const char *)data, i }, &address);
	for (size_t i = 0; i + 1 < size; i += 2) {
		step(names, &model, id, data[i], data[i + 1]);
		check(names, &model, id);
	}
	names_free(names);
	return 0;
}
