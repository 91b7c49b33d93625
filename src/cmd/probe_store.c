// SPDX-License-Identifier: Apache-2.0
#include "cmd/probe_store.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "cmd/findings.h"
#include "cmd/text.h"
#include "store/db.h"

#define AREA "store"

/* "3.2 days", "40 minutes": enough to know what can be asked for. */
static void add_age(struct buf *out, u64 ns)
{
	static const struct {
		const char *name;
		u64 ns;
	} units[] = { { "days", 86400 * SECOND_NS }, { "hours", 3600 * SECOND_NS }, { "minutes", 60 * SECOND_NS } };

	for (u32 i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (ns < 2 * units[i].ns)
			continue;
		buf_addf(out, "%.1f %s", (double)ns / (double)units[i].ns, units[i].name);
		return;
	}
	buf_addf(out, "%llu seconds", (unsigned long long)(ns / SECOND_NS));
}

static int add_levels(struct db *db, u64 now_ns, struct buf *out)
{
	static const char *const names[DB_LEVELS] = { "blocks", "1 m", "10 m", "1 h" };
	int r = 0;

	for (u32 level = 0; level < DB_LEVELS && r == 0; level++) {
		u64 first_ns;

		r = db_first(db, level, &first_ns);
		if (r < 0)
			break;
		buf_addf(out, "%s%s ", level ? ", " : "", names[level]);
		if (first_ns == UINT64_MAX)
			buf_addf(out, "nothing yet");
		else
			add_age(out, now_ns > first_ns ? now_ns - first_ns : 0);
	}
	return r;
}

static void judge(struct db *db, const char *directory, u64 now_ns, struct findings *findings)
{
	_cleanup_(buf_done) struct buf levels;
	char size[TEXT_VALUE_MAX];
	u64 bytes = 0;
	int r = db_bytes(db, &bytes);

	buf_init(&levels, FINDING_TEXT_MAX);
	if (r == 0)
		r = add_levels(db, now_ns, &levels);
	if (r == 0)
		r = buf_err(&levels);
	if (r < 0)
		findings_add(findings, AREA, FINDING_WARN, "if it is broken, wick sets it aside when it starts",
			     "%s cannot be read: %s", directory, strerror(-r));
	else
		findings_add(findings, AREA, FINDING_OK, "", "%s has %s and reaches back: %s", directory,
			     text_value(size, (s64)bytes, UNIT_BYTES), levels.data);
}

void probe_store(const char *directory, u64 now_ns, struct findings *findings)
{
	_cleanup_(db_closep) struct db *db = NULL;
	_cleanup_(buf_done) struct buf why;
	char path[4096];

	buf_init(&why, FINDING_TEXT_MAX);
	if (snprintf(path, sizeof(path), "%s/wick.db", directory) >= (int)sizeof(path))
		return;
	if (access(path, F_OK) < 0 && (errno == ENOENT || errno == ENOTDIR))
		findings_add(findings, AREA, FINDING_OK, "", "none in %s yet; sudo wick begins one", directory);
	else if (access(path, R_OK) < 0)
		findings_add(findings, AREA, FINDING_WARN, "run it as root, or as who wrote the store", "%s: %s", path,
			     strerror(errno));
	else if (db_open(path, true, &db, &why) < 0)
		findings_add(findings, AREA, FINDING_WARN, "if it is broken, wick sets it aside when it starts", "%s",
			     why.len ? why.data : "out of memory");
	else
		judge(db, directory, now_ns, findings);
}
