#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are stacks whole where programs have more unwind rows than the kernel's memory for them holds?

LIBRARIES libraries of generated code have 1.5 times the rows that the default budget takes. A program calls down through all of
them, each time of PHASE_MS through functions in other parts, twice round. Every stack must reach _start through each library, rows must
be evicted and come back, and their memory must never be past the budget. The same is asked of a process with more mappings than a table
has room for.
"""
import os
import platform
import re
import subprocess
import sys
import tempfile
import time

import common
from common import Recording, Tap, privileged_or_skip

common.LIBRARIES = re.compile("^libmany")       # frames of these say their file

LIBRARIES = 16
PAGES = 32                      # of 64 KiB, with 12,288 rows each: 24 MiB in all
FUNCTION_BYTES = 16
FUNCTIONS = PAGES * 65536 // FUNCTION_BYTES
PHASE_MS = 150
ROUNDS = 2
BUDGET = 16 << 20
RATE_HZ = 497
MAPPING_COUNT = 60000

# Calls the first of a list of functions with the rest of the list. Three rows in 16 bytes.
CODE = f"""
	.text
	.globl functions
	.p2align 16
functions:
	.rept {FUNCTIONS}
	.p2align 4
	.cfi_startproc
	push %rbx
	.cfi_def_cfa_offset 16
	.cfi_offset 3, -16
	mov %rdi, %rbx
	add $8, %rdi
	call *(%rbx)
	pop %rbx
	.cfi_def_cfa_offset 8
	ret
	.cfi_endproc
	.endr
	.section .note.GNU-stack,"",@progbits
"""

PROGRAM = f"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void function(void *rest);

static long long now_ms(void)
{{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}}

static long long phase_end;

__attribute__((noinline)) void spin(void *rest)
{{
	for (volatile int i = 0; i < 200000; i++)
		;
}}

int main(int argc, char **argv)
{{
	char *base[{LIBRARIES}];
	function *list[{LIBRARIES} + 1];

	for (int i = 0; i < {LIBRARIES}; i++) {{
		void *library = dlopen(argv[2 + i], RTLD_NOW);

		if (!library)
			return fprintf(stderr, "%s\\n", dlerror()), 1;
		base[i] = dlsym(library, "functions");
	}}
	list[{LIBRARIES}] = spin;
	for (int phase = 0; phase < atoi(argv[1]); phase++) {{
		phase_end = now_ms() + {PHASE_MS};
		do {{
			for (int i = 0; i < {LIBRARIES}; i++)
				list[i] = (function *)(base[i] + ((phase + i * 7) % {PAGES} * 4096 + rand() % 4096) * {FUNCTION_BYTES});
			list[0](list + 1);
		}} while (now_ms() < phase_end);
	}}
	return 0;
}}
"""


def build(folder):
    """The program, and the libraries."""
    thing, program = os.path.join(folder, "code.o"), os.path.join(folder, "many-rows")
    subprocess.run(["as", "-o", thing, "-"], input=CODE, text=True, check=True)
    subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-x", "c", "-", "-o", program], input=PROGRAM, text=True, check=True)
    libraries = [os.path.join(folder, f"libmany{i}.so") for i in range(LIBRARIES)]
    for i, library in enumerate(libraries):
        subprocess.run(["ld", "-shared", f"--build-id=0x77696b72{i:032x}", "-o", library, thing], check=True)
    return program, libraries


# So many executable mappings, none of which the kernel can join with its neighbours, then the same chain of calls.
MAPPINGS = f"""
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

__attribute__((noinline)) void spin(void)
{{
	for (volatile int i = 0; i < 200000; i++)
		;
}}

int main(void)
{{
	char *at = mmap(0, {MAPPING_COUNT} * 4096l, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	time_t end = time(0) + 4;

	if (at == MAP_FAILED)
		return 1;
	for (long i = 0; i < {MAPPING_COUNT}; i += 2)
		if (mprotect(at + i * 4096, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
			return perror("mprotect"), 1;
	while (time(0) < end)
		spin();
	return 0;
}}
"""


def many_mappings(tap, folder):
    program = os.path.join(folder, "many-maps")
    subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-x", "c", "-", "-o", program], input=MAPPINGS, text=True, check=True)
    for how, arguments, command in (("from its start", ["--no-inline"], [program]), ("while it runs", ["--no-inline", "-d", "2"], None)):
        running = None if command else subprocess.Popen([program])
        if running:
            time.sleep(1.5)
            arguments = arguments + ["-p", str(running.pid)]
        recording = Recording(arguments, command, rate=RATE_HZ).wait()
        if running:
            running.wait()
        profile = recording.profile()
        samples = [s for s in profile.of("many-maps") if s.user[-1:] == ("spin",)]
        total = sum(s.count for s in samples)
        whole = sum(s.count for s in samples if profile.is_rooted(s))
        if not tap.check(f"stacks of a process with {MAPPING_COUNT} executable mappings are whole, {how}",
                         total > 100 and whole >= 0.99 * total, f"{whole} of {total}"):
            tap.note(recording.said())


def counter(text, name):
    found = re.search(rf"^ *(\d+)  {name} ", text, re.MULTILINE)
    return int(found.group(1)) if found else 0


def depth(sample):
    """How many different libraries a stack goes through."""
    return len({name.split("}")[0] for name in sample.user if name.startswith("{libmany")})


def main():
    tap = Tap()
    if platform.machine() != "x86_64":
        tap.skip("many rows", "the code is x86-64's")
        tap.end()
    if not privileged_or_skip(tap, "many rows"):
        tap.end()
    with tempfile.TemporaryDirectory(prefix="wick-rows-") as folder:
        program, libraries = build(folder)
        # On a busy machine the rows of so much code are not there at once: they are kept for the next time.
        Recording(["--no-inline"], [program, "4", *libraries], rate=RATE_HZ).wait()
        recording = Recording(["-v", "--no-inline"], [program, str(PAGES * ROUNDS), *libraries], rate=RATE_HZ).wait()
        text = recording.stderr.decode(errors="replace")
        profile = recording.profile()
        samples = [s for s in profile.of("many-rows") if s.user[-1:] == ("spin",)]
        total = sum(s.count for s in samples)
        whole = sum(s.count for s in samples if profile.is_rooted(s) and depth(s) == LIBRARIES)
        tap.note(recording.said())
        tap.check("the program was sampled", recording.status == 0 and total > PAGES * ROUNDS * 8, f"{total} samples")
        tap.check("99 % of stacks reach _start through every library", whole >= 0.99 * total,
                  f"{100 * whole / max(1, total):.2f} % of {total}")
        missed, installed, evicted = (counter(text, f"rows_{name}") for name in ("misses", "pages_installed", "pages_evicted"))
        tap.check("rows were missed, installed and evicted", missed and installed and evicted,
                  f"{missed} samples missed some; {installed} pages installed, {evicted} evicted")
        tap.check("a stack that lacks many pages costs one slice", missed < 0.4 * total, f"{missed} of {total}")
        used = counter(text, "rows_bytes")
        tap.check("rows are within their budget", 0 < used <= BUDGET, f"{used / (1 << 20):.1f} MiB")
        many_mappings(tap, folder)
    tap.end()


if __name__ == "__main__":
    sys.exit(main())
