// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "cmd/command.h"
#include "cmd/findings.h"
#include "cmd/probe.h"

#define DOCTOR_OUTPUT_MAX (1u << 20)

struct doctor_values {
	bool json;
};

static const struct option_entry doctor_options[] = {
	{ "json", 0, OPTION_SWITCH, offsetof(struct doctor_values, json), NULL, NULL, 0, 0, NULL, "print JSON" },
	{ 0 },
};

static int doctor_run(const void *values, int count, char **operands)
{
	const struct doctor_values *v = values;
	_cleanup_(freep) struct findings *findings = calloc(1, sizeof(*findings));
	_cleanup_(buf_done) struct buf out;
	struct terminal terminal;

	buf_init(&out, DOCTOR_OUTPUT_MAX);
	if (!findings)
		return command_fail(&command_doctor, "out of memory");
	terminal_init(&terminal, STDOUT_FILENO);
	probe_machine(findings);
	if (v->json) {
		buf_addf(&out, "{\"findings\": ");
		findings_json(findings, &out);
		buf_addf(&out, "}\n");
	} else {
		findings_print(findings, &terminal, &out);
	}
	if (buf_err(&out) < 0)
		return command_fail(&command_doctor, "out of memory");
	fwrite(out.data, 1, out.len, stdout);
	return findings_worst(findings) == FINDING_BAD;
}

const struct command command_doctor = {
	.name = "doctor",
	.help = "say what works on this machine, what does not, and why",
	.operands = "",
	.about = "Looks at the kernel, its BPF features and settings, and at the privileges that wick has, and\n"
		 "says what each missing one costs. The exit status is 1 if wick record cannot run here.\n",
	.examples = "  sudo wick doctor\n"
		    "  sudo wick doctor --json | jq '.findings[] | select(.status != \"ok\")'\n",
	.options = { doctor_options, false },
	.values_bytes = sizeof(struct doctor_values),
	.run = doctor_run,
};
