/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the OpenTelemetry Transformation Language that profiles need:
 *
 *	set(resource.attributes["env"], "prod") where resource.attributes["env"] == nil
 *	IsMatch(sample.attributes["thread.name"], "^gc-") or profile.period == 0
 *
 * A program is a group of statements, or of conditions, that see the same
 * thing: a resource, a scope, a profile (one sample type), or a sample. It is
 * parsed and type-checked once, is immutable then, and may be run by several
 * threads, each with a struct ottl_run of its own. Names come from tables
 * (paths.c, converters.c, editors.c), which the documentation lists.
 *
 * Both sides are hostile: statements are bounded in length, depth and size,
 * values that are made by OTTL_SCRATCH_BYTES a statement, what is added to a
 * profile by OTTL_GROWTH_BYTES a run, patterns by base/pattern.h.
 */
#ifndef OTTL_OTTL_H
#define OTTL_OTTL_H

#include <stdbool.h>

#include "abi.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/pattern.h"

struct buf;
struct ottl_program;
struct profile;
struct profile_resource;
struct profile_sample;
struct profile_scope;
struct profile_set;

#define OTTL_TEXT_MAX 16384
#define OTTL_DEPTH_MAX 32
#define OTTL_PROGRAM_BYTES ((size_t)4 << 20)
#define OTTL_SCRATCH_BYTES ((size_t)16 << 20)
#define OTTL_CACHE_BYTES ((size_t)4 << 20)
#define OTTL_GROWTH_BYTES ((size_t)256 << 20)

/* From the outermost inwards. */
enum ottl_context { OTTL_RESOURCE, OTTL_SCOPE, OTTL_PROFILE, OTTL_SAMPLE, OTTL_INFER };

/* "resource", "scope" ("instrumentation_scope"), "profile", "sample" ("profilesample"); -ENOENT. */
int ottl_context_parse(const char *name, enum ottl_context *ret_context);
const char *ottl_context_name(enum ottl_context context);

/*
 * With a context, paths may leave it out: attributes["k"] is that of the context. With OTTL_INFER every path
 * names its own, and the program sees the innermost that was named.
 */
struct ottl_program *ottl_program_new(enum ottl_context context);
void ottl_program_free(struct ottl_program *program);
DEFINE_CLEANUP(struct ottl_program *, ottl_program_free)

/*
 * -EINVAL, and `why` gets a sentence with the column: "column 5: there is no function sett; did you mean set?".
 * -ENOMEM. A program holds either statements or conditions.
 */
int ottl_add_statement(struct ottl_program *program, const char *text, struct buf *why);
int ottl_add_condition(struct ottl_program *program, const char *text, struct buf *why);

enum ottl_context ottl_program_context(const struct ottl_program *program);
u32 ottl_program_count(const struct ottl_program *program);

/* What is being looked at, as deep as the program's context asks for. Conditions change nothing of it. */
struct ottl_target {
	struct profile *profile;
	struct profile_resource *resource;
	struct profile_scope *scope;
	struct profile_set *set;
	struct profile_sample *sample;
};

struct ottl_cache {
	struct arena arena;
	const struct keyvalue *at;
	u32 count;
};

/* Private, but its size: one for each call of a processor. */
struct ottl_run {
	struct ottl_target at;
	struct arena scratch;
	struct ottl_cache cache;
	struct pattern_scratch pattern;
	size_t profile_bytes_max;	/* 0: not asked for yet */
	char why[256];			/* of the last failure */
};

void ottl_run_init(struct ottl_run *run);
void ottl_run_done(struct ottl_run *run);

/* On to another target: the cache is empty again. */
void ottl_run_at(struct ottl_run *run, const struct ottl_target *target);

/* The i-th condition: 1 or 0; a failure is -errno, run->why says why. */
int ottl_holds(const struct ottl_program *program, u32 i, struct ottl_run *run);

/* Runs the i-th statement: 1 if its condition held, else 0; a failure is -errno, run->why says why. */
int ottl_execute(const struct ottl_program *program, u32 i, struct ottl_run *run);

#endif
