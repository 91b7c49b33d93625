// SPDX-License-Identifier: Apache-2.0
#include "cmd/findings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "cmd/text.h"
#include "profile/profile.h"

static const char *const status_texts[] = {
#define X(name, text) [FINDING_##name] = text,
	FINDING_STATUSES(X)
#undef X
};

void findings_add(struct findings *findings, const char *area, enum finding_status status, const char *advice,
		  const char *fmt, ...)
{
	struct finding *f;
	va_list ap;

	if (findings->count == FINDINGS_MAX) {
		findings->left_out++;
		return;
	}
	f = &findings->at[findings->count++];
	*f = (struct finding){ .area = area, .status = status, .advice = advice };
	va_start(ap, fmt);
	vsnprintf(f->text, sizeof(f->text), fmt, ap);
	va_end(ap);
}

enum finding_status findings_worst(const struct findings *findings)
{
	enum finding_status worst = FINDING_OK;

	for (unsigned i = 0; i < findings->count; i++) {
		if (findings->at[i].status > worst)
			worst = findings->at[i].status;
	}
	return worst;
}

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

void findings_print(const struct findings *findings, const struct terminal *terminal, struct buf *out)
{
	static const enum terminal_style styles[] = {
		[FINDING_OK] = STYLE_GREEN, [FINDING_WARN] = STYLE_YELLOW, [FINDING_BAD] = STYLE_RED,
	};

	for (unsigned i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->at[i];
		bool again = i && !strcmp(findings->at[i - 1].area, f->area);

		buf_addf(out, "%-14s%s%-5s%s ", again ? "" : f->area, terminal_style(terminal, styles[f->status]),
			 status_texts[f->status], terminal_style(terminal, STYLE_NONE));
		(void)text_add(out, str(f->text), TEXT_UNLIMITED);
		buf_addf(out, "\n");
		if (*f->advice)
			buf_addf(out, "%20s%s-> %s%s\n", "", terminal_style(terminal, STYLE_DIM), f->advice,
				 terminal_style(terminal, STYLE_NONE));
	}
	if (findings->left_out)
		buf_addf(out, "and %u more\n", findings->left_out);
}

void findings_json(const struct findings *findings, struct buf *out)
{
	buf_addf(out, "[");
	for (unsigned i = 0; i < findings->count; i++) {
		const struct finding *f = &findings->at[i];

		buf_addf(out, "%s\n  {\"area\": ", i ? "," : "");
		text_add_json(out, str(f->area));
		buf_addf(out, ", \"status\": \"%s\", \"text\": ", status_texts[f->status]);
		text_add_json(out, str(f->text));
		buf_addf(out, ", \"advice\": ");
		text_add_json(out, str(f->advice));
		buf_addf(out, "}");
	}
	buf_addf(out, "\n]");
}
