#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests that are small on the wire and large when they are decoded. Prints TAP.

What is decoded is charged to the memory budget before it is taken: what does not fit is refused, in words that senders
understand, and counted.
"""
import json
import os
import tempfile

from attack import MIB, TAP, Healthy, Wick, at_once, free_port, packed, post, within
from forge import message

BYTES = 16 * MIB        # of a request, without its compression: below the limit of 20 MiB


def many(number, piece=b"", limit=BYTES):
    one = message(number, piece)
    return one * (limit // len(one))


ZEROS = message(2, b"".join(message(number, b"") for number in range(1, 8)))    # a dictionary of zero rows


def bombs():
    """Each is well formed OTLP."""
    scope = lambda inner: message(1, message(2, inner))       # noqa: E731
    yield "profiles", scope(many(2)) + ZEROS
    yield "scopes", message(1, many(2)) + ZEROS
    yield "resources", many(1) + ZEROS
    yield "samples", scope(message(2, many(2))) + ZEROS
    yield "attributes of a resource", message(1, message(1, many(1))) + ZEROS
    yield "values in a value", message(1, message(1, message(1, message(2, message(5, many(1)))))) + ZEROS
    for number, name in enumerate(("mappings", "locations", "functions", "links", "strings", "attributes", "stacks"), 1):
        yield name, message(2, many(number) + b"".join(message(other, b"") for other in range(1, 8) if other != number))
    yield "lines of a location", message(2, message(2, b"") + message(2, many(3)))


def config(port, folder, limiter=None):
    processors = {"memory_limiter": {"check_interval": "1s", "limit_mib": limiter}} if limiter else {}
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "processors": processors,
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "processors": list(processors),
                                                   "exporters": ["store"]}}}}


def budget(wick):
    return wick.metric("wick_memory_budget_bytes") or 256 * MIB


def send_bombs(name, limiter=None):
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, Wick(config(port, folder, limiter), (port,)) as wick:
        before, allowed = wick.memory("VmRSS"), limiter * MIB if limiter else budget(wick)
        with Healthy(port) as healthy:
            for kind, body in bombs():
                body = packed(body)
                statuses = at_once(4, lambda _, body=body: post(port, body, {"content-encoding": "gzip"}))
                TAP.check(f"{name}: {kind} in {len(body) / 1024:.0f} KiB: four requests are answered",
                          wick.alive() and all(statuses), f"{statuses}, peak {wick.memory('VmHWM') / MIB:.0f} MiB")
                if not wick.alive() or wick.memory("VmHWM") > before + allowed * 3:
                    break
            text = json.dumps({"resourceProfiles": [{"scopeProfiles": [{"profiles": []}]}]})
            text = packed(text.replace('"profiles": []', f'"profiles": [{",".join(["{}"] * (5 * MIB))}]').encode())
            at_once(4, lambda _: post(port, text, {"content-encoding": "gzip", "content-type": "application/json"}))
        within(name, wick, before, allowed - (before if limiter else 0))
        healthy.check(name)
        TAP.check(f"{name}: what was refused is counted", wick.metric("wick_memory_refused_total") > 0)


def main():
    send_bombs("many small messages")
    send_bombs("many small messages, memory_limiter of 256 MiB", 256)
    TAP.end()


main()
