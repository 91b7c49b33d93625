#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configurations as the OpenTelemetry Collector reads them, against ours: what a value is, what ${...} becomes, what
several --config and --set merge to. Both print what they read as JSON. Prints TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import common  # noqa: E402

TAP = common.Tap()
GET = os.path.join(common.ROOT, "test/peers/otelcol/get.sh")

FRAME = """
receivers:
  otlp: {protocols: {grpc: }}
processors:
  resource:
    attributes:
      - key: k
        action: upsert
        value: %s
exporters:
  nop:
service:
  pipelines:
    profiles: {receivers: [otlp], processors: [resource], exporters: [nop]}
"""

VALUES = [
    "yes", "on", "0x1F", "0o17", "017", "08", "0b101", "1_000", "1e3", ".5", "1.", "+12", "-0", "~", "null", "Null",
    "true", "TRUE", "tRue", "'true'", '"12"', "1:30", "12:30:45", "!!str 12", "!!float 1", "!mine x", "0xg", "''",
    "=", "&a x", "[1, a, [x]]", "{a: 1, b: {c: d}}", "{<<: {a: 1, b: 2}, b: 3}", "0_7", "1__0", "_1", "0x_1", "+.5",
    "-1_0.5", "1e+3", "9223372036854775807", "-9223372036854775808", "1e400", "0777777777777777777777777", "1.5e3",
    "|\n          a\n          b\n", ">-\n          a\n          b\n", "'$$x'", "'$$'", "'$yaml:x'", "'${yaml:12}'",
    "'${yaml:true}'", "'${yaml:[1,2]}'", "'${yaml:{a: b}}'", "'x${yaml:12}y'", "'${yaml:abc}'", "'${yaml:}'",
    "'${yaml:\"12\"}'", "'${yaml:1${yaml:2}}'", "'${yaml: 12 }'", "'a}b${yaml:c}'", "'${file:text}'",
    "'x${file:text}'", "'${file:list}'", "'${file:nested}'", "'${yaml:[a}'",
]

# Each is refused by both.
REFUSED = ["- 1", "'${yaml:$$x}'", "'${nothing:x}'", "'${file:nowhere}'", "*nothing", "{a: 1, a: 2}", "!!int x", "[1"]

FILES = {"text": "tok en\n", "list": "- a\n- 1\n", "nested": "{a: '${file:text}', b: {c: x}}"}

BASE = """
receivers: {otlp: {protocols: {grpc: {endpoint: "localhost:4317"}}}}
processors: {batch: {timeout: 1000000000}, resource: {attributes: [{key: a, value: 1, action: insert}]}}
exporters: {nop: , debug: {verbosity: basic}}
service: {pipelines: {profiles: {receivers: [otlp], processors: [resource], exporters: [nop, debug]}}}
"""

MERGES = {
    "maps are joined": ["--config=yaml:processors: {batch: {send_batch_size: 7}}"],
    "values are replaced": ["--config=yaml:exporters: {debug: {verbosity: normal}}"],
    "lists are replaced": ["--config=yaml:service: {pipelines: {profiles: {exporters: [nop]}}}"],
    "keys with colons": ["--config=yaml:processors::batch::timeout: 3000000000"],
    "set": ["--set=processors.batch.timeout=4000000000"],
    "set of a list": ["--set=service.pipelines.profiles.exporters=[debug]"],
    "set of a map joins": ["--set=processors.batch={send_batch_size: 9}"],
    "a set goes before a file that is named later": ["--set=processors.batch.timeout=4000000000",
                                                     "--config=yaml:processors::batch::timeout: 5000000000"],
    "lists are joined by a gate": ["--feature-gates=confmap.enableMergeAppendOption",
                                   "--config=yaml:service: {pipelines: {profiles: {exporters: [debug, nop]}}}"],
}


# With every section that is not there by default, so that all options of it are printed.
EVERYTHING = """
receivers:
  otlp:
    protocols:
      grpc: {tls: {}, auth: {authenticator: x}, keepalive: {server_parameters: {}, enforcement_policy: {}}}
      http: {tls: {}, auth: {authenticator: x}, cors: {}}
processors:
  batch:
  memory_limiter: {check_interval: 1s, limit_mib: 100}
  resource: {attributes: [{key: a, value: b, action: insert}]}
  filter: {profile_conditions: ['profile.duration == 1']}
exporters:
  otlp_grpc: {endpoint: "a:1", tls: {}, auth: {authenticator: x}, keepalive: {}, sending_queue: {batch: {}}}
  otlp_http: {endpoint: "http://a:1", tls: {}, auth: {authenticator: x}, cookies: {}, sending_queue: {batch: {}}}
  debug: {sending_queue: {}}
  file: {path: /tmp/x, rotation: {}, group_by: {}}
  nop:
service:
  pipelines:
    profiles: {receivers: [otlp], exporters: [otlp_grpc, otlp_http, debug, file]}
"""


def printed(binary, gates, arguments):
    """(configuration, "") or (None, why)."""
    p = subprocess.run([binary, "print-config", gates, "--format=json", "--validate=false", *arguments],
                       capture_output=True, text=True, timeout=60)
    try:
        return json.loads(p.stdout), ""
    except ValueError:
        return None, (p.stderr or p.stdout).strip()[-300:]


def plain(value):
    """JSON has one kind of number, and Python two; True is not 1."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return (type(value).__name__, value)
    if isinstance(value, (int, float)):
        return ("number", float(value))
    if isinstance(value, list):
        return [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()}


def value_of(config):
    return plain(config["processors"]["resource"]["attributes"][0].get("value"))


def both(otelcol, arguments):
    gates = "--feature-gates=service.profilesSupport"
    return printed(otelcol, gates, arguments), printed(common.WICK, gates, arguments)


def check_values(otelcol):
    for text in VALUES + REFUSED:
        with open("c.yaml", "w", encoding="utf-8") as out:
            out.write(FRAME % text)
        (theirs, why), (ours, our_why) = both(otelcol, ["--config=c.yaml"])
        if text in REFUSED:
            TAP.check(f"both refuse {text!r}", theirs is None and ours is None, why and "")
        elif theirs is None or ours is None:
            TAP.check(f"both read {text!r}", False, f"{why} {our_why}")
        else:
            TAP.check(f"both read {text!r} as the same", value_of(theirs) == value_of(ours),
                      "" if value_of(theirs) == value_of(ours) else f"{value_of(theirs)} and {value_of(ours)}")


def of_ours(ours, theirs):
    """What ours says, as theirs has it: theirs adds defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {k: of_ours(v, theirs.get(k)) for k, v in ours.items()}
    return plain(theirs)


def check_merges(otelcol):
    with open("base.yaml", "w", encoding="utf-8") as out:
        out.write(BASE)
    for name, arguments in MERGES.items():
        (theirs, why), (ours, our_why) = both(otelcol, ["--config=base.yaml", *arguments])
        if theirs is None or ours is None:
            TAP.check(name, False, f"{why} {our_why}")
            continue
        for where in (("processors", "batch"), ("service", "pipelines"), ("receivers", "otlp", "protocols")):
            ours_part, theirs_part = ours, theirs
            for key in where:
                ours_part, theirs_part = ours_part[key], theirs_part[key]
            same = plain(ours_part) == of_ours(ours_part, theirs_part)
            TAP.check(f"{name}: {where[-1]}", same, "" if same else f"{theirs_part} and {ours_part}")


def check_options(otelcol):
    """Every option that the Collector prints is known here: it works, it is refused with a reason, or a warning."""
    with open("everything.yaml", "w", encoding="utf-8") as out:
        out.write(EVERYTHING)
    theirs, why = printed(otelcol, "--feature-gates=service.profilesSupport", ["--config=everything.yaml"])
    if not TAP.check("the Collector prints all options", theirs is not None, why):
        return
    with open("everything.json", "w", encoding="utf-8") as out:
        json.dump(theirs, out)
    ours = subprocess.run([common.WICK, "validate", "--config=everything.json"], capture_output=True, text=True,
                          timeout=60)
    unknown = [line for line in ours.stderr.splitlines() if "unknown key" in line]
    TAP.check("none of them is unknown", ours.stderr and not unknown, " ".join(unknown))


def main():
    got = subprocess.run([GET, "1000"], capture_output=True, text=True)
    if got.returncode:
        TAP.skip("configurations against the OpenTelemetry Collector", (got.stderr.strip() or "it cannot be had").splitlines()[-1])
        TAP.end()
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        for name, text in FILES.items():
            with open(name, "w", encoding="utf-8") as out:
                out.write(text)
        check_values(got.stdout.strip())
        check_merges(got.stdout.strip())
        check_options(got.stdout.strip())
        os.chdir("/")
    TAP.end()


main()
