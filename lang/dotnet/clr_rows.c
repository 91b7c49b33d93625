// SPDX-License-Identifier: Apache-2.0
#include "lang/dotnet/clr_rows.h"

#include <elf.h>
#include <errno.h>

#include "base/clock.h"
#include "lang/dotnet/clr_code.h"
#include "lang/dotnet/clr_image.h"
#include "lang/dotnet/clr_layout.h"
#include "lang/dotnet/clr_modules.h"
#include "lang/jit/code_image.h"
#include "lang/lang.h"
#include "lang/memory.h"

#define PIECE_BYTES (64u << 10)
#define FUNCTION_BYTES_MAX (256u << 10)	/* longer ones go without */
#define FUNCTIONS_MAX (1u << 18)	/* then all are forgotten, and met again */
#define MAKE_NS 100000000ull		/* of making rows, then they have to wait */
#define MAKE_REST 4			/* ... so many times as long as that took */

void clr_rows_done(struct clr_rows *rows)
{
	code_table_done(&rows->functions);
	code_rows_done(&rows->rows);
}

/* Each is a piece of its own: what lies between them is data, which looks like other code. */
static void add_function(void *arg, u64 start_va, u64 end_va)
{
	struct clr_rows *rows = arg;
	const struct code_piece *known = code_table_find(&rows->functions, start_va);
	struct code_place place = { .start_va = start_va, .end_va = end_va, .machine = EM_X86_64,
				    .first_name = rows->functions.count, .last_name = rows->functions.count + 1 };

	if ((known && known->start_va == start_va && known->end_va == end_va) || end_va - start_va > FUNCTION_BYTES_MAX)
		return;
	code_table_add(&rows->functions, start_va, end_va - start_va, "f", 1, NULL, 0, 0);
	code_rows_add(&rows->rows, &place, NULL);
}

void clr_rows_meet(struct clr_rows *rows, const struct clr_layout *l, struct memory *m, struct clr_modules *modules,
		   u64 sections_va, u64 va)
{
	u64 start_va = va / PIECE_BYTES * PIECE_BYTES, end_va = start_va + PIECE_BYTES;
	struct clr_code_section section;
	const struct clr_image *image;

	if (REG_RA == 30 || code_table_find(&rows->functions, va))
		return;
	section = clr_code_section_find(l, m, sections_va, va);
	if (!section.va)
		return;
	if (rows->functions.count > FUNCTIONS_MAX)
		code_table_clear(&rows->functions);
	if (start_va < section.start_va)
		start_va = section.start_va;
	if (end_va > section.end_va)
		end_va = section.end_va;
	if (clr_code_section_has_methods(l, m, &section)) {
		clr_code_functions(l, m, &section, start_va, end_va, add_function, rows);
		return;
	}
	image = clr_modules_image(modules, m, section.start_va);
	if (image)
		clr_image_functions(m, image, start_va, end_va, add_function, rows);
}

void clr_rows_meet_methods(struct clr_rows *rows, const struct clr_layout *l, struct memory *m, u64 sections_va,
			   u64 start_va, u64 end_va)
{
	struct clr_code_section section = clr_code_section_find(l, m, sections_va, start_va);

	if (REG_RA != 30 && section.va && end_va <= section.end_va && clr_code_section_has_methods(l, m, &section))
		clr_code_functions(l, m, &section, start_va, end_va, add_function, rows);
}

/* A process with much code gets a share of our time, not all. */
static int make_rows(void *arg, const struct code_place *place, struct rows **ret_rows)
{
	struct clr_rows *rows = arg;
	u64 start_ns = monotonic_ns(), end_ns;
	int r;

	if (start_ns < rows->next_make_ns)
		return -EAGAIN;
	r = code_image_rows(rows->process, &rows->functions, place, NULL, ret_rows);
	end_ns = monotonic_ns();
	rows->making_ns += end_ns - start_ns;
	if (rows->making_ns >= MAKE_NS) {
		rows->next_make_ns = end_ns + rows->making_ns * MAKE_REST;
		rows->making_ns = 0;
	}
	return r;
}

int clr_rows_join(struct clr_rows *rows, const struct lang_process *process, u64 start_va, u64 end_va, u64 base_va,
		  struct rows **ret_rows)
{
	int r;

	rows->process = process;
	r = code_rows_join(&rows->rows, start_va, end_va, base_va, make_rows, rows, ret_rows);
	rows->process = NULL;
	return r;
}
