#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Configurations that people have, run as they are: a node agent that prints text, one that sends to Pyroscope, a plain
relay, and agent -> gateway -> two backends. The profiler in them is the real one."""
import os
import re
import subprocess

import harness
import backend
import canonical
import forged
import relay

TAP = harness.TAP
GATE = ("--feature-gates=service.profilesSupport",)

NODE_AGENT = """
receivers:
  profiling: {Tracers: "perl,php,python,hotspot,ruby,v8,dotnet,go", SamplesPerSecond: 20, BpfVerifierLogLevel: 1, VerboseMode: true, SendErrorFrames: false, OffCPUThreshold: 0}
  customprofilesreceiver: {report_interval: 5s}
processors:
  customprofilesexporter: {foo: "bar"}
exporters:
  customprofilesexporter:
    ignore_profiles_without_container_id: %s
    export_resource_attributes: true
    export_profile_attributes: true
    export_sample_attributes: true
    export_stack_frames: true
    export_stack_frame_types: [native, kernel, go, jvm, php, cpython]
    export_function_file: true
service:
  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: 127.0.0.1, port: %d}}}}]}}
  pipelines:
    profiles: {receivers: [profiling, customprofilesreceiver], processors: [customprofilesexporter], exporters: [customprofilesexporter]}
"""

TO_PYROSCOPE = """
receivers:
  profiling: {SamplesPerSecond: 97, reporter_interval: 1s}
exporters:
  otlp/pyroscope: {endpoint: "http://127.0.0.1:%d", tls: {insecure: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [profiling], exporters: [otlp/pyroscope]}
"""

RELAY = """
receivers:
  otlp: {protocols: {grpc: {endpoint: "localhost:%d"}}}
exporters:
  otlp: {endpoint: "localhost:%d", tls: {insecure: true}}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [otlp]}
"""

GATEWAY = """
receivers:
  otlp: {protocols: {grpc: {endpoint: "127.0.0.1:%d"}, http: {endpoint: "127.0.0.1:%d"}}}
exporters:
  otlp/pyroscope: {endpoint: "http://127.0.0.1:%d", tls: {insecure: true}}
  otlphttp/other: {endpoint: "http://127.0.0.1:%d"}
service:
  telemetry: {metrics: {level: none}}
  pipelines:
    profiles: {receivers: [otlp], exporters: [otlp/pyroscope, otlphttp/other]}
"""

ATTRIBUTE = r"  [^:]+: .* \((Str|Int|Double|Bool|Map|Slice|Bytes|Empty)\)"
LINES = [re.compile(pattern + r"\Z") for pattern in (
    r"-{15} New Resource Profile -{14}", r" {14}SKIPPED \(no container\.id\)", ATTRIBUTE, r"-{19} New Profile -{19}",
    r"  ProfileID: [0-9a-f]{32}", r"  Dropped attributes count: \d+", r"  SampleType: .*", r"~{48}", r"-{19} New Sample -{20}",
    r"-{51}", r"Instrumentation: \S+, Function: .*, File: .*, Line: \d+, Column: \d+",
    r"Instrumentation: \S+: Function: 0x[0-9a-f]{2,}, File: .*", r"-{19} End Sample -{20}", r"-{19} End Profile -{19}",
    r"-{14} End Resource Profile -{15}", "")]


def busy():
    """Something to see for the profiler: most of its time passes in the kernel, so that any tick shows frames of both halves."""
    return subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=64k"], stderr=subprocess.DEVNULL)


def text_of(ignored):
    """What the node agent prints in some seconds, with the profiler's and with the made-up profiles."""
    port = harness.free_port()
    wick = harness.Wick(NODE_AGENT % (ignored, port), [port], GATE)
    with wick:
        harness.wait_for(lambda: "  container.id: " in wick.printed() and
                         ("Instrumentation: kernel" in wick.printed() or ignored == "true"), 20, 0.2)
        status = wick.stop()
        return status, wick.printed(), wick.said()


def node_agent():
    for ignored in ("true", "false"):
        name = f"node agent, ignore_profiles_without_container_id: {ignored}"
        work = busy()
        try:
            status, text, said = text_of(ignored)
        finally:
            work.kill()
            work.wait()
        TAP.check(f"{name}: ends well", status == 0, "" if status == 0 else said[-600:])
        odd = [line for line in text.splitlines() if not any(pattern.match(line) for pattern in LINES)]
        TAP.check(f"{name}: every line has its form", text and not odd, str(odd[:3]) if odd else "")
        TAP.check(f"{name}: the processor's attribute is there", "  foo: bar (Str)" in text)
        TAP.check(f"{name}: the made-up profile is there", re.search(r"^  container\.id: .* \(Str\)$", text, re.M) is not None)
        if ignored == "false":
            TAP.check(f"{name}: the profiler's stacks are there", re.search("^Instrumentation: kernel, Function: ", text, re.M))


def to_pyroscope():
    with backend.Backend() as behind:
        work = busy()
        try:
            with harness.Wick(TO_PYROSCOPE % behind.grpc_port, (), GATE) as wick:
                relay.arrived(behind, 100, 20)
                status = wick.stop()
                said = wick.said()
        finally:
            work.kill()
            work.wait()
        got = sum(map(canonical.count, behind.data()))
        TAP.check("agent to Pyroscope: samples arrive", got >= 100 and status == 0, f"{got}" + (said[-600:] if got < 100 else ""))


def plain_relay():
    port = harness.free_port()
    with backend.Backend() as behind, harness.Wick(RELAY % (port, behind.grpc_port), [port], GATE):
        client = harness.GrpcClient(port)
        sent = [client.send(raw) for raw in relay.REQUESTS.values()]
        client.close()
        wanted = sum(canonical.count(canonical.parse(raw)) for raw in relay.REQUESTS.values())
        found = sum(map(canonical.count, relay.arrived(behind, wanted)))
        TAP.check("plain relay: everything arrives", found == wanted and set(sent) == {"OK"}, f"{found} of {wanted}")


def gateway():
    """The agent is a relay here too: what it sends is known."""
    ports = harness.free_port(), harness.free_port()
    agent = harness.free_port()
    names = [f"b{i}" for i in range(50)]
    with backend.Backend() as one, backend.Backend() as other, \
            harness.Wick(GATEWAY % (*ports, one.grpc_port, other.http_port), ports, GATE), \
            harness.Wick(RELAY % (agent, ports[0]), [agent], GATE):
        client = harness.GrpcClient(agent)
        for name in names:
            client.send(forged.small(name))
        client.close()
        for behind, which in ((one, "first"), (other, "second")):
            behind.wait(names, 20)
            TAP.check(f"gateway: the {which} backend gets everything once",
                      [behind.delivered[name] for name in names] == [1] * 50, f"{len(behind.delivered)} of 50")


def main():
    if os.geteuid() == 0:
        relay.guarded("node agent", node_agent)
        relay.guarded("agent to Pyroscope", to_pyroscope)
    else:
        TAP.skip("the profiling receiver", "needs root to load BPF programs")
    relay.guarded("plain relay", plain_relay)
    relay.guarded("gateway", gateway)
    TAP.end()


if __name__ == "__main__":
    main()
