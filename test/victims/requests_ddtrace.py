# SPDX-License-Identifier: Apache-2.0
"""requests_ddtrace.py SECONDS: spans of Datadog's tracing library, which says by itself for which its threads work. In the end it
tells, as requests.c does, what each took."""
import sys
import time

from ddtrace import tracer

PIECE_NS = 10_000_000


def burn(ns):
    end = time.thread_time_ns() + ns
    total = 0
    while time.thread_time_ns() < end:
        for i in range(2000):
            total += i
    return total


def work_a():
    return burn(2 * PIECE_NS)


def work_b():
    return burn(PIECE_NS)


def outside():
    return burn(PIECE_NS)


def main():
    end = time.monotonic() + float(sys.argv[1])
    spans = []
    while time.monotonic() < end:
        for name, work in (("a", work_a), ("b", work_b)):
            start_ns = time.thread_time_ns()
            with tracer.trace(name, resource="GET /" + name) as span:
                work()
            spans.append(f"span {span.trace_id:032x} {span.span_id:016x} {name} {time.thread_time_ns() - start_ns} 1")
        outside()
    print("\n".join(spans))


main()
