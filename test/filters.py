#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Only what matters: of many busy processes those that rules want are sampled, decided before a stack is walked; rules change while
it samples, by SIGHUP, without another sampler; rules give names."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import common

TAP = common.Tap()
OTHERS = 30


def busy(service, **options):
    return subprocess.Popen([sys.executable, "-c", "while 1: pass", f"arguments-of-{service}"],
                            env={**os.environ, "OTEL_SERVICE_NAME": service}, **options)


def stop(processes):
    for process in processes:
        process.kill()
    for process in processes:
        process.wait()


def counters(text):
    found = {}
    for line in text.splitlines():
        words = line.split()
        if len(words) > 2 and words[0].isdigit():
            found[words[1]] = int(words[0])
    return found


def recorded(*arguments, seconds="2"):
    with tempfile.TemporaryDirectory(prefix="wick-filters-") as folder:
        out = f"{folder}/r.otlp"
        result = subprocess.run([common.WICK, "record", "-F", "199", "-v", "-d", seconds, "-o", out, *arguments], capture_output=True,
                                text=True, timeout=60, check=False)
        if result.returncode:
            return None, {}, result.stderr
        return common.Profile(out), counters(result.stderr), result.stderr


def services(profile):
    found = {}
    for sample in profile.samples:
        name = sample.resource.get("service.name", "")
        found[name] = found.get(name, 0) + sample.count
    return found


def record():
    others = [busy(f"other{i}", preexec_fn=lambda: os.nice(19)) for i in range(OTHERS)]
    wanted = busy("wanted")
    try:
        profile, count, said = recorded("--service", "wanted")
        found = services(profile) if profile else {}
        TAP.check("record --service: only that one, of many", set(found) == {"wanted"} and found["wanted"] > 20, str(found) or said[-300:])
        TAP.check("... the others are left out in the kernel, but for the first samples of each",
                  count.get("filtered", 0) > 0 and count.get("samples_of_unwanted_processes", 0) < count.get("ticks", 0) / 2,
                  str({k: count.get(k) for k in ("ticks", "filtered", "samples_sent", "samples_of_unwanted_processes")}))
        profile, _, said = recorded("--user", "daemon", seconds="1")
        TAP.check("record --user: nobody else's", profile is not None and not profile.samples, said[-200:] if profile is None else "")
        _, _, said = recorded("--user", "no-such-user", seconds="1")
        TAP.check("a user that there is not is said to be none", "there is no user no-such-user" in said, said[-200:])
    finally:
        stop([*others, wanted])


CONFIG = """
receivers:
  profiling:
    samples_per_second: %d
    reporter_interval: 200ms
%s
exporters:
  file: {path: "%s/out.json", flush_interval: 50ms, append: true}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [file]}
"""


class Collector:
    def __init__(self, folder, rules, rate=97):
        self.folder, self.rate = folder, rate
        self.write(rules)
        with open(f"{folder}/log", "wb") as log:
            self.process = subprocess.Popen([common.WICK, "--config", f"{folder}/config.yaml"], stdout=log, stderr=log)

    def write(self, rules):
        with open(f"{self.folder}/config.new", "w", encoding="utf-8") as file:
            file.write(CONFIG % (self.rate, rules, self.folder))
        os.replace(f"{self.folder}/config.new", f"{self.folder}/config.yaml")

    def reload(self, rules):
        self.write(rules)
        self.process.send_signal(signal.SIGHUP)

    def sampler(self):
        out = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(self.process.pid)], capture_output=True, text=True, check=False).stdout
        return [int(line.split()[0]) for line in out.splitlines() if "sampler" in line]

    def seen(self, skip=0):
        """(service, pid) with samples in what was written since; how much that is."""
        try:
            with open(f"{self.folder}/out.json", encoding="utf-8") as file:
                lines = file.read().split("\n")[:-1]
        except FileNotFoundError:
            return {}, 0
        found = {}
        for line in lines[skip:]:
            for sample in common.Profile(json.loads(line)).samples:
                name = sample.resource.get("service.name", "")
                found[name] = found.get(name, 0) + sample.count
        return found, len(lines)

    def samples(self):
        with open(f"{self.folder}/out.json", encoding="utf-8") as file:
            return [sample for line in file.read().split("\n")[:-1] for sample in common.Profile(json.loads(line)).samples]

    def wait(self, condition, seconds=20):
        end = time.monotonic() + seconds
        while not condition() and time.monotonic() < end:
            time.sleep(0.1)
        return condition()

    def stop(self):
        self.process.terminate()
        self.process.wait(30)


def reload():
    one, two = busy("one"), busy("two")
    with tempfile.TemporaryDirectory(prefix="wick-filters-") as folder:
        collector = Collector(folder, "    include: [{service: one}]")
        try:
            collector.wait(lambda: collector.seen()[0].get("one", 0) > 10)
            before, sampler = collector.seen()[0], collector.sampler()
            TAP.check("a rule in the configuration", set(before) == {"one"}, str(before))
            skip = collector.seen()[1]
            collector.reload("    include: [{command: arguments-of-two}]")
            begin = time.monotonic()
            collector.wait(lambda: collector.seen(skip)[0].get("two", 0) > 0)
            took = time.monotonic() - begin
            # What was sampled before the rule changed is in the next windows.
            collector.wait(lambda: collector.seen(collector.seen()[1] - 1)[0].get("one", 0) == 0 and collector.seen()[1] > skip + 3)
            skip = collector.seen()[1]
            collector.wait(lambda: collector.seen(skip)[0].get("two", 0) > 10)
            after = collector.seen(skip)[0]
            TAP.check("another rule by SIGHUP: the other is sampled, the first no more", set(after) == {"two"}, f"{after} after {took:.1f} s")
            TAP.check("... by the same sampler", collector.sampler() == sampler and len(sampler) == 1, f"{sampler} {collector.sampler()}")
            collector.reload("    exclude: [{service: two}]\n    services: [{command: arguments-of-one, name: renamed, version: '7'}]")
            collector.wait(lambda: collector.seen(collector.seen()[1] - 1)[0].get("renamed", 0) > 0)
            skip = collector.seen()[1]
            collector.wait(lambda: collector.seen(skip)[0].get("renamed", 0) > 10)
            after = collector.seen(skip)[0]
            TAP.check("a rule gives a name, another leaves one out", "renamed" in after and "two" not in after and "one" not in after,
                      str(after))
            collector.reload("    include: [{command: '('}]")
            time.sleep(1.5)
            skip = collector.seen()[1]
            collector.wait(lambda: collector.seen(skip)[0].get("renamed", 0) > 5)
            with open(f"{folder}/log", encoding="utf-8", errors="replace") as file:
                said = file.read()
            TAP.check("a rule that is none changes nothing, and is said", "renamed" in collector.seen(skip)[0] and "command:" in said, said[-300:])
        finally:
            collector.stop()
            stop([one, two])


RATE = """
    governor: {enabled: false}
    include: [{service: thin, rate: 0.25}, {service: whole}%s]"""


def rate():
    """Two programs use 3 s of CPU time each, 2,991 ticks; one of them is sampled at a quarter, which is off by 3 % as a rule."""
    burn = [sys.executable, "-c", "import time\nwhile time.process_time() < 3: pass"]
    with tempfile.TemporaryDirectory(prefix="wick-filters-") as folder:
        collector = Collector(folder, RATE % ", {service: warm}", 997)
        warm = busy("warm")
        collector.wait(lambda: collector.seen()[0].get("warm", 0) > 10)
        stop([warm])
        both = {name: subprocess.Popen(burn, env={**os.environ, "OTEL_SERVICE_NAME": name}) for name in ("thin", "whole")}
        while any(process.poll() is None for process in both.values()):
            time.sleep(1)
            collector.reload(RATE % f", {{service: other{time.monotonic()}}}")
        collector.stop()
        samples = collector.samples()
    total = {name: sum(s.count for s in samples if s.pid == process.pid) for name, process in both.items()}
    taken = {name: sum(len(s.times_ns) for s in samples if s.pid == process.pid) for name, process in both.items()}
    TAP.check("a rule with a rate: fewer samples", 0 < taken["thin"] < 0.4 * taken["whole"], f"{taken}")
    TAP.check("... that weigh as much, also while rules change", abs(total["thin"] / max(total["whole"], 1) - 1) < 0.2, f"{total} {taken}")


def main():
    if common.privileged_or_skip(TAP, "filters"):
        record()
        reload()
        rate()
    TAP.end()


if __name__ == "__main__":
    main()
