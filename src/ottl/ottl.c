// SPDX-License-Identifier: Apache-2.0
#include "ottl/ottl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "ottl/expr.h"
#include "ottl/parser.h"

/* ---- Contexts ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	enum ottl_context context;
} contexts[] = {
	{ "resource", OTTL_RESOURCE }, { "scope", OTTL_SCOPE }, { "profile", OTTL_PROFILE }, { "sample", OTTL_SAMPLE },
	{ "instrumentation_scope", OTTL_SCOPE }, { "profilesample", OTTL_SAMPLE },
};

int ottl_context_parse(const char *name, enum ottl_context *ret_context)
{
	for (u32 i = 0; i < sizeof(contexts) / sizeof(*contexts); i++)
		if (!strcmp(contexts[i].name, name)) {
			*ret_context = contexts[i].context;
			return 0;
		}
	return -ENOENT;
}

const char *ottl_context_name(enum ottl_context context)
{
	return context < OTTL_INFER ? contexts[context].name : "";
}

/* ---- Programs ------------------------------------------------------------------------------- */

struct ottl_program *ottl_program_new(enum ottl_context context)
{
	struct ottl_program *program = calloc(1, sizeof(*program));

	if (!program)
		return NULL;
	arena_init(&program->arena, OTTL_PROGRAM_BYTES);
	program->given = context;
	return program;
}

void ottl_program_free(struct ottl_program *program)
{
	if (!program)
		return;
	for (u32 i = 0; i < program->pattern_count; i++)
		pattern_free(program->patterns[i]);
	free(program->patterns);
	free(program->lines);
	arena_done(&program->arena);
	free(program);
}

enum ottl_context ottl_program_context(const struct ottl_program *program)
{
	return program->given == OTTL_INFER ? program->innermost : program->given;
}

u32 ottl_program_count(const struct ottl_program *program)
{
	return program->count;
}

static int program_add(struct ottl_program *program, const char *text,
		       int (*parse)(struct parser *parser, struct ottl_line *ret_line), struct buf *why)
{
	size_t len = strlen(text);
	struct ottl_line line = { 0 };
	struct parser parser;
	const char *copy;
	int r;

	if (len > OTTL_TEXT_MAX || program->count == OTTL_LINES_MAX) {
		buf_addf(why, "a statement may have %d characters, and a group %d statements", OTTL_TEXT_MAX,
			 OTTL_LINES_MAX);
		return -EINVAL;
	}
	copy = arena_strndup(&program->arena, text, len);	/* literals point into it */
	if (!copy)
		return -ENOMEM;
	parser_init(&parser, program, copy, (u32)len, why);
	r = parse(&parser, &line);
	if (r < 0)
		return r;
	r = array_reserve(&program->lines, &program->line_cap, program->count + 1, sizeof(*program->lines));
	if (r < 0)
		return r;
	program->lines[program->count++] = line;
	return 0;
}

int ottl_add_statement(struct ottl_program *program, const char *text, struct buf *why)
{
	return program_add(program, text, parse_statement, why);
}

int ottl_add_condition(struct ottl_program *program, const char *text, struct buf *why)
{
	return program_add(program, text, parse_condition, why);
}

/* ---- Runs ------------------------------------------------------------------------------------ */

void ottl_run_init(struct ottl_run *run)
{
	*run = (struct ottl_run){ 0 };
	arena_init(&run->scratch, OTTL_SCRATCH_BYTES);
	arena_init(&run->cache.arena, OTTL_CACHE_BYTES);
}

void ottl_run_done(struct ottl_run *run)
{
	arena_done(&run->scratch);
	arena_done(&run->cache.arena);
	pattern_scratch_done(&run->pattern);
}

void ottl_run_at(struct ottl_run *run, const struct ottl_target *target)
{
	if (run->at.profile != target->profile)
		run->profile_bytes_max = 0;
	run->at = *target;
	if (run->cache.count) {
		arena_done(&run->cache.arena);
		run->cache.at = NULL;
		run->cache.count = 0;
	}
}

int run_fail(struct ottl_run *run, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(run->why, sizeof(run->why), format, args);
	va_end(args);
	return error;
}

int run_err(struct ottl_run *run)
{
	int r = arena_err(&run->scratch);

	if (r == -E2BIG)
		return run_fail(run, r, "the values of one statement take more than %zu bytes", OTTL_SCRATCH_BYTES);
	return r < 0 ? run_fail(run, r, "out of memory") : 0;
}

void *run_alloc(struct ottl_run *run, size_t bytes)
{
	return arena_alloc(&run->scratch, bytes ? bytes : 1);
}

void run_text_init(struct buf *text)
{
	buf_init(text, OTTL_SCRATCH_BYTES);
}

int run_keep(struct ottl_run *run, const struct buf *text, struct str *ret_string)
{
	int r = buf_err(text);

	if (r < 0)
		return run_fail(run, r, "the text that was made is too long");
	*ret_string = str_copy(&run->scratch, text->data, text->len);
	return run_err(run);
}

/* What a statement made is gone with it. */
static void run_forget(struct ottl_run *run)
{
	if (run->scratch.held || run->scratch.err)
		arena_done(&run->scratch);
}

int ottl_holds(const struct ottl_program *program, u32 i, struct ottl_run *run)
{
	int r = expr_holds(program->lines[i].where, run);

	run_forget(run);
	return r;
}

int ottl_execute(const struct ottl_program *program, u32 i, struct ottl_run *run)
{
	const struct ottl_line *line = &program->lines[i];
	struct value ignored;
	int r = line->where ? expr_holds(line->where, run) : 1;

	if (r > 0) {
		r = expr_eval(line->call, run, &ignored);
		if (r >= 0)
			r = 1;
	}
	run_forget(run);
	return r;
}
