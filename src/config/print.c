// SPDX-License-Identifier: Apache-2.0
#include "config/print.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json_write.h"
#include "config/scalar.h"

#define INDENT 2

struct printer {
	const struct print_options *options;
	struct buf *out;
};

/* What is known of a node: its field, the table of its children, or whether all below it is secret. */
struct about {
	const struct config_field *field, *fields;
	const char *section;	/* of the component whose id is the next key */
	bool secret;
};

/* ---- Which values are secret -------------------------------------------------------------- */

static bool gives_away(const char *key)
{
	static const char *const words[] = {
		"password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential", "key_pem",
		"private_key",
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcasestr(key, words[i]))
			return true;
	}
	return false;
}

/* A table knows better than a name: token_file is no secret. */
static struct about about_child(const struct printer *p, struct about parent, const char *key)
{
	struct about child = { .secret = parent.secret };

	if (parent.section) {
		child.fields = p->options->fields ? p->options->fields(p->options->arg, parent.section, key) : NULL;
		return child;
	}
	if (parent.fields)
		child.field = config_find_field(parent.fields, key);
	if (!child.field) {
		child.secret = child.secret || gives_away(key);
		return child;
	}
	child.fields = child.field->fields;
	child.secret = child.secret || child.field->type == CONFIG_SECRET || child.field->secret;
	return child;
}

static struct about about_top(const struct printer *p, const char *key)
{
	static const char *const sections[] = { "receivers", "processors", "exporters", "connectors", "extensions" };

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (!strcmp(sections[i], key))
			return (struct about){ .section = sections[i] };
	}
	return about_child(p, (struct about){ 0 }, key);
}

/* ---- Scalars --------------------------------------------------------------------------------- */

/* What starts and goes on like a word, a path or an address needs no quotes; all else gets them. */
static bool is_plain(const char *text)
{
	struct config_node node = { 0 };

	scalar_resolve(text, &node);
	if (node.kind != NODE_STRING || (!isalnum((unsigned char)*text) && !strchr("/_.$", *text)))
		return false;
	for (const char *c = text; *c; c++) {
		bool ends = !c[1] || c[1] == ' ';

		if (!isalnum((unsigned char)*c) && !strchr("_./-+$=", *c) && !(strchr(" :,", *c) && !ends))
			return false;
	}
	return true;
}

/* $$ and ${ would be something else when it is read again. */
static void double_dollars(const char *text, struct buf *out)
{
	for (const char *c = text; *c; c++) {
		bool special = *c == '$' && (c[1] == '$' || c[1] == '{' || (c > text && c[-1] == '$'));

		buf_add(out, special ? "$$" : c, special ? 2 : 1);
	}
	buf_addf(out, "%s", "");
}

static void print_text(struct printer *p, const char *text)
{
	if (p->options->format == PRINT_YAML && is_plain(text))
		buf_add(p->out, text, strlen(text));
	else
		json_put_string(p->out, text, strlen(text));
}

static void print_string(struct printer *p, const char *text)
{
	_cleanup_(buf_done) struct buf escaped;

	buf_init(&escaped, p->out->max);
	double_dollars(text, &escaped);
	if (buf_err(&escaped))
		p->out->err = buf_err(&escaped);
	else
		print_text(p, escaped.data);
}

static void print_scalar(struct printer *p, const struct config_node *node)
{
	switch (node->kind) {
	case NODE_NULL:
		buf_addf(p->out, "null");
		break;
	case NODE_BOOL:
		buf_addf(p->out, node->boolean ? "true" : "false");
		break;
	case NODE_INT:
		buf_addf(p->out, "%lld", (long long)node->integer);
		break;
	case NODE_DOUBLE:
		if (isfinite(node->real))
			json_put_double(p->out, node->real);
		else	/* JSON has no such numbers */
			buf_addf(p->out, p->options->format == PRINT_JSON ? "\"%s\"" : "%s",
				 isnan(node->real) ? ".nan" : node->real > 0 ? ".inf" : "-.inf");
		break;
	default:
		print_string(p, node->text);
	}
}

/* ---- Trees ----------------------------------------------------------------------------------- */

static bool is_leaf(const struct config_node *node)
{
	return (node->kind != NODE_MAP && node->kind != NODE_LIST) || !node->count;
}

/* Secrets below a map or list are told from an absent value: null and "" stay. */
static void print_leaf(struct printer *p, const struct config_node *node, struct about about)
{
	if (node->kind == NODE_MAP || node->kind == NODE_LIST)
		buf_addf(p->out, node->kind == NODE_MAP ? "{}" : "[]");
	else if (about.secret && !p->options->unredacted && node->kind != NODE_NULL && *node->text)
		print_text(p, CONFIG_REDACTED);
	else
		print_scalar(p, node);
}

static struct about about_element(const struct printer *p, const struct config_node *node, u32 i, struct about about,
				  bool top)
{
	if (node->kind == NODE_LIST)
		return about;
	return top ? about_top(p, node->map[i].key) : about_child(p, about, node->map[i].key);
}

static void print_json(struct printer *p, const struct config_node *node, struct about about, int indent)
{
	bool map = node->kind == NODE_MAP;

	if (is_leaf(node)) {
		print_leaf(p, node, about);
		return;
	}
	buf_addf(p->out, map ? "{" : "[");
	for (u32 i = 0; i < node->count; i++) {
		buf_addf(p->out, "%s\n%*s", i ? "," : "", indent + INDENT, "");
		if (map) {
			print_text(p, node->map[i].key);
			buf_addf(p->out, ": ");
		}
		print_json(p, map ? node->map[i].value : node->list[i], about_element(p, node, i, about, indent == 0),
			   indent + INDENT);
	}
	buf_addf(p->out, "\n%*s%s", indent, "", map ? "}" : "]");
}

/* The first line of what stands in a list goes behind the hyphen. */
static void print_yaml(struct printer *p, const struct config_node *node, struct about about, int indent,
		       bool behind_hyphen)
{
	bool map = node->kind == NODE_MAP;

	for (u32 i = 0; i < node->count; i++) {
		const struct config_node *value = map ? node->map[i].value : node->list[i];
		struct about child = about_element(p, node, i, about, indent == 0);

		buf_addf(p->out, "%*s", behind_hyphen && i == 0 ? 0 : indent, "");
		if (map)
			print_text(p, node->map[i].key);
		buf_addf(p->out, map ? ":" : "-");
		if (is_leaf(value)) {
			buf_addf(p->out, " ");
			print_leaf(p, value, child);
			buf_addf(p->out, "\n");
			continue;
		}
		buf_addf(p->out, map ? "\n" : " ");
		print_yaml(p, value, child, indent + INDENT, !map);
	}
}

void config_print(const struct config_node *root, const struct print_options *options, struct buf *out)
{
	struct printer p = { options, out };

	if (options->format == PRINT_JSON) {
		print_json(&p, root, (struct about){ 0 }, 0);
		buf_addf(out, "\n");
	} else if (is_leaf(root)) {
		buf_addf(out, "{}\n");
	} else {
		print_yaml(&p, root, (struct about){ 0 }, 0, false);
	}
}
