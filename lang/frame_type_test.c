// SPDX-License-Identifier: Apache-2.0
#include "lang/frame_type.h"

#include "lang/lang.h"
#include "test.h"

TEST(frame_types_are_complete_and_found_by_their_name)
{
	u32 count = 0;

	for (; frame_type_at(count); count++) {
		const struct frame_type *t = frame_type_at(count);

		OK(t->title && t->colour && t->firefox);
		EQ(frame_type_find(str_of(t->type)), count);
	}
	OK(count > 10);
	EQ(frame_type_find(STR("cobol")), 0);
	STREQ(frame_type_at(frame_type_find(STR("cpython")))->title, "Python");
}

TEST(frame_types_of_all_languages_are_known)
{
	for (u32 lang = 1; lang < LANG_MAX; lang++)
		if (lang_list[lang])
			OK(frame_type_find(str_of(lang_list[lang]->look.type)));
}
