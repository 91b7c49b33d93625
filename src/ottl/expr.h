/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Expressions as parsed: a tree in the program's arena, evaluated by walking
 * it. What is inside of ottl/ and not for its users.
 */
#ifndef OTTL_EXPR_H
#define OTTL_EXPR_H

#include "ottl/ottl.h"
#include "ottl/value.h"
#include "profile/attrs.h"

#define FUNCTION_PARAMETERS_MAX 6

enum expr_kind {
	EXPR_CONSTANT,
	EXPR_PATH,
	EXPR_CALL,
	EXPR_INDEX,	/* of what a converter gave */
	EXPR_LIST,
	EXPR_MAP,
	EXPR_NEGATE,
	EXPR_MATH,
	EXPR_COMPARE,
	EXPR_AND,
	EXPR_OR,
	EXPR_NOT,
};

enum math_op { MATH_ADD, MATH_SUBTRACT, MATH_MULTIPLY, MATH_DIVIDE };

struct expr;

struct expr_list {
	u32 count;
	struct expr **at;
};

/* ---- Paths ------------------------------------------------------------------------- */

struct path_ops {
	enum ottl_context context;
	const char *name;		/* "sample_type.type" */
	u32 types;			/* what it gives without keys */
	u32 takes;			/* what may be written to it; 0: nothing */
	bool keys;			/* may be followed by ["key"] when written to */
	int (*get)(struct ottl_run *run, struct value *ret_value);
	int (*set)(struct ottl_run *run, const struct value *value);
	struct attrs (*attrs)(struct ottl_run *run);	/* attributes: instead of get and set */
	const char *help;
};
extern const struct path_ops ottl_paths[];	/* ended by a NULL name */

struct path {
	const struct path_ops *ops;
	struct expr_list keys;
};

int path_get(const struct path *path, struct ottl_run *run, struct value *ret_value);
int path_set(const struct path *path, struct ottl_run *run, const struct value *value);

/* ---- Functions ----------------------------------------------------------------------- */

enum parameter_kind {
	PARAMETER_VALUE,
	PARAMETER_LITERAL,	/* known before anything runs */
	PARAMETER_TARGET,	/* a path that can be written to */
	PARAMETER_PATTERN,	/* a regular expression, literal */
	PARAMETER_GLOB,		/* a pattern with * and ? for the whole text, literal */
	PARAMETER_FUNCTION,	/* the name of a converter that takes a string */
};

struct parameter {
	const char *name;	/* NULL: there are no more */
	u32 types;
	enum parameter_kind kind;
	bool optional;
};

struct call {
	const struct function_ops *ops;
	struct expr *arguments[FUNCTION_PARAMETERS_MAX];	/* NULL: not given */
	const struct pattern *pattern;
	const struct function_ops *function;
};

struct function_ops {
	const char *name;
	u32 returns;		/* 0: an editor */
	struct parameter parameters[FUNCTION_PARAMETERS_MAX];
	/*
	 * `in` are the values of the arguments: of the parameter's type where that is a string, an int, a list or a
	 * map (which nil is too, empty); nil where none was given, and for targets. The result is nil until it is set.
	 */
	int (*run)(struct ottl_run *run, const struct call *call, const struct value *in, struct value *ret_value);
	/* What the table cannot say; NULL: nothing. A sentence if it is wrong, or NULL. */
	const char *(*check)(const struct call *call);
	const char *help;
	s64 detail;		/* what those that share a run() differ in */
};
/* Parameters are named as they are written: resolve_conflicts is resolveConflicts too. */
extern const struct function_ops ottl_converters[];		/* ended by a NULL name */
extern const struct function_ops ottl_more_converters[];
extern const struct function_ops ottl_editors[];
extern const struct function_ops ottl_map_editors[];

const struct path *argument_path(const struct call *call, u32 i);

/* A literal argument, or NULL if it was not given. */
const struct any *argument_literal(const struct call *call, u32 i);

/* Applies a converter that takes one string. */
int function_apply(struct ottl_run *run, const struct function_ops *ops, struct str in, struct str *ret_out);

/* ---- Expressions ----------------------------------------------------------------------- */

struct expr {
	enum expr_kind kind;
	u32 types;		/* what it may give */
	u32 column;
	union {
		struct value constant;
		struct path path;
		struct call call;
		struct expr_list list;				/* LIST */
		struct { struct expr_list values; const struct str *keys; } map;
		struct { struct expr *of; struct expr_list keys; } index;
		struct { struct expr *left, *right; int op; } pair;	/* NEGATE and NOT: left */
	};
};

int expr_eval(const struct expr *expr, struct ottl_run *run, struct value *ret_value);

/* A condition: 1, 0, or -errno. */
int expr_holds(const struct expr *expr, struct ottl_run *run);

/* Notes why, and returns the error. */
int run_fail(struct ottl_run *run, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Moves the contents of a buffer to the scratch arena; a buffer for that. */
void run_text_init(struct buf *text);
int run_keep(struct ottl_run *run, const struct buf *text, struct str *ret_string);
void *run_alloc(struct ottl_run *run, size_t bytes);	/* NULL: the scratch arena's error */
int run_err(struct ottl_run *run);

/* ---- Programs --------------------------------------------------------------------------- */

struct ottl_line {
	const struct expr *call;	/* of an editor; NULL in conditions */
	const struct expr *where;	/* or NULL */
};

#define OTTL_LINES_MAX 1000

struct ottl_program {
	struct arena arena;
	enum ottl_context given, innermost;
	struct ottl_line *lines;
	u32 count, line_cap;
	struct pattern **patterns;
	u32 pattern_count, pattern_cap;
};

#endif
