/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What plain `wick` runs: this machine is profiled, profiles of others are taken
 * in, all are kept in a store and shown by the page, on one port. The options
 * only fill in this configuration; `wick print-config` shows it.
 */
#ifndef CMD_BUILTIN_H
#define CMD_BUILTIN_H

#include <stdbool.h>

#include "cmd/options.h"

struct buf;

struct builtin_options {
	const char *listen, *store_path, *retention, *clickhouse, *page_files, *page_source;	/* NULL: the defaults */
};

/* Entries of a command's table. */
#define BUILTIN_OPTIONS(type, member) \
	{ "listen", 0, OPTION_TEXT, offsetof(type, member.listen), "ADDRESS", NULL, 0, 0, NULL, \
	  "of the page and of OTLP, if there is no --config; localhost:11000 unless given" }, \
	{ "store.path", 0, OPTION_TEXT, offsetof(type, member.store_path), "DIRECTORY", NULL, 0, 0, NULL, \
	  "where profiles are kept; /var/lib/wick unless given" }, \
	{ "store.retention", 0, OPTION_TEXT, offsetof(type, member.retention), "AGE,SIZE", NULL, 0, 0, NULL, \
	  "how long, and how much, as in 7d,2GB" }, \
	{ "store.clickhouse", 0, OPTION_TEXT, offsetof(type, member.clickhouse), "URL", NULL, 0, 0, NULL, \
	  "keep them in a ClickHouse server instead, as in http://localhost:8123" }, \
	{ "page.files", 0, OPTION_TEXT, offsetof(type, member.page_files), "DIRECTORY", NULL, 0, 0, NULL, \
	  "serve the page's files from there, while you work on them" }, \
	{ "page.source", 0, OPTION_TEXT, offsetof(type, member.page_source), "DIRECTORY", NULL, 0, 0, NULL, \
	  "show source files from there, line by line with their samples; several have commas between them" }

bool builtin_given(const struct builtin_options *options);

/* -EINVAL with a sentence in error. */
int builtin_write(const struct builtin_options *options, struct buf *yaml, char error[OPTIONS_ERROR_MAX]);

#endif
