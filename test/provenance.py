#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one user brings never changes what another sees: a program with the build id, the length, the beginning and the end
of root's, but with false unwind tables and names, run by nobody first, while wick looks and across a restart of it."""
import os
import shutil
import subprocess
import tempfile

import common

NOBODY = 65534
SOURCE = """
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
static volatile uint64_t sum;
#define PAD(n) __attribute__((used, noinline)) void pad##n(void) { for (int i = 0; i < n; i++) sum += (uint64_t)i * n; }
PAD(1) PAD(2) PAD(3) PAD(4) PAD(5) PAD(6) PAD(7) PAD(8) PAD(9)
static const char filler[16384] = { 1 };
__attribute__((noinline)) static void honest_inner(long rounds)
{
	for (long i = 0; i < rounds; i++)
		sum += (uint64_t)i ^ (uint64_t)filler[i & 16383];
	sum++;
}
__attribute__((noinline)) static void honest_outer(long rounds)
{
	honest_inner(rounds);
	sum++;
}
int main(int argc, char **argv)
{
	time_t end = time(NULL) + (argc > 1 ? atoi(argv[1]) : 2);

	while (time(NULL) < end)
		honest_outer(1000000);
	return 0;
}
"""


def sections(path):
    """{name: (offset, bytes)} of the file."""
    found = {}
    text = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        words = line.replace("[ ", "[").split()
        if len(words) > 6 and words[0].startswith("[") and words[1].startswith("."):
            found[words[1]] = (int(words[4], 16), int(words[5], 16))
    return found


def make_false(honest, false):
    """A copy whose rules for the stack pointer are wrong, and whose functions have other names."""
    with open(honest, "rb") as file:
        data = bytearray(file.read())
    at = sections(honest)
    start, size = at[".eh_frame"]
    for i in range(start, start + size - 1):
        if data[i] == 0x0e and 8 < data[i + 1] < 0x80:      # DW_CFA_def_cfa_offset
            data[i + 1] += 8
    start, size = at[".strtab"]
    data[start:start + size] = data[start:start + size].replace(b"honest_", b"false__")
    with open(false, "wb") as file:
        file.write(data)


def samples_of(path, name):
    """(all, whole with the true names) of a program's samples."""
    mine = [s for s in common.Profile(path).samples if s.resource.get("process.executable.path", "").endswith("/" + name)]
    good = sum(s.count for s in mine if s.user[:1] and s.user[0] in common.ROOTS and "honest_outer" in s.user and
               "honest_inner" in s.user)
    return sum(s.count for s in mine), good


def record(tap, out, cache, shell):
    environment = dict(os.environ, XDG_CACHE_HOME=cache)
    result = subprocess.run([common.WICK, "record", "-F", "199", "-o", out, "--", "sh", "-c", shell], env=environment,
                            capture_output=True, text=True, timeout=60, check=False)
    if not tap.check("recorded", result.returncode == 0):
        tap.note(result.stderr[-1500:])


def main():
    tap = common.Tap()
    with tempfile.TemporaryDirectory(prefix="wick-test-") as folder:
        os.chmod(folder, 0o755)
        honest, false, cache = (os.path.join(folder, n) for n in ("honest", "false", "cache"))
        subprocess.run(["gcc", "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-Wl,--build-id", "-x", "c", "-",
                        "-o", honest], input=SOURCE, text=True, check=True)
        with open(honest, "ab") as file:
            file.write(bytes(8192))         # so that files that differ have the same end
        make_false(honest, false)
        os.chmod(false, 0o755)
        os.chown(false, NOBODY, NOBODY)
        os.mkdir(cache, 0o700)
        as_nobody = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups"
        runs = (("beside each other", f"{as_nobody} {false} 4 & sleep 1; {honest} 3; wait"), ("after a restart", f"{honest} 2"))
        for when, shell in runs:
            out = os.path.join(folder, "out.otlp")
            record(tap, out, cache, shell)
            count, good = samples_of(out, "honest")
            tap.check(f"{when}: root's program keeps its stacks and names", count >= 50 and good >= 0.97 * count,
                      f"{good} of {count} samples")
            if when == "beside each other":
                count, good = samples_of(out, "false")
                tap.check("the attack bites on its own program", count >= 50 and good == 0, f"{good} of {count} samples")
        shutil.rmtree(cache)
    tap.end()


if __name__ == "__main__":
    main()
