#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""50 clients of another user send stacks that were never seen before, so that the store has ever more to remember. Prints
TAP. The store's dictionaries stay within the budget, also after a restart; who brings most is told to come later, and a
healthy sender beside it is answered. The attackers are a process of their own: dictionary.py PORT SECONDS."""
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

from attack import MIB, TAP, Healthy, Wick, become_stranger, free_port, get, post, wait_for, within
from forge import unique_stacks

CLIENTS, STACKS, DEPTH, SECONDS, BUDGET = 50, 2000, 60, 10, 64


def config(port, folder):
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": {"endpoint": f"127.0.0.1:{port}"}},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def send_unique(port, ends):
    """Prints how many were taken, and how many of those that were not said 429."""
    counts = {}
    lock = threading.Lock()

    def send(client):
        seed = client << 20
        while time.monotonic() < ends:
            status = post(port, unique_stacks(seed, STACKS, DEPTH))
            with lock:
                counts[status] = counts.get(status, 0) + 1
            seed += status == 200
            if status != 200:
                time.sleep(0.2)
    threads = [threading.Thread(target=send, args=(client,), daemon=True) for client in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(counts.get(200, 0), counts.get(429, 0), counts, flush=True)


def attack(port):
    """(taken, told to come later, in words)"""
    command = [sys.executable, os.path.abspath(__file__), str(port), str(SECONDS)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    taken, later, words = done.stdout.split(None, 2)
    return int(taken), int(later), words.strip()


def ask(port, when):
    """For what others have sent there is always memory; what the attacker sent may be too much for one answer."""
    question = "/api/v1/flame?from=0&to=4102444800&nodes=100"
    status, body = get(port, question + "&where=host!=attacker", timeout=60)
    TAP.check(f"unique stacks: a question of others is answered {when}",
              status == 200 and json.loads(body)["total"] > 0, f"{status} {body[:100]}")
    status, body = get(port, question, timeout=60)
    TAP.check(f"unique stacks: one over all is answered or refused in words {when}",
              status == 200 or (status in (413, 503) and b"error" in body), f"{status} {body[:100]}")


def main():
    if os.geteuid() != 0:
        TAP.skip("attacks by another user", "needs root to become one")
        TAP.end()
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, Wick(config(port, folder), (port,), (f"--max-memory={BUDGET}",)) as wick:
        before = wick.memory("VmRSS")
        with Healthy(port, tries=1) as healthy:
            taken, later, words = attack(port)
        TAP.check("unique stacks: the attack took place", taken > 5, words)
        TAP.check("unique stacks: who brings most is told to come later", later > 0, words)
        TAP.check("unique stacks: that is counted by its name",
                  wick.metric("wick_receiver_new_stacks_refused_requests") >= later)
        healthy.check("unique stacks")
        within("unique stacks", wick, before, BUDGET * MIB)
        wait_for(lambda: wick.metric("otelcol_exporter_queue_size") == 0, 20)
        ask(port, "beside what the attacker has sent")
        wick.stop()
        wick.start()
        ask(port, "after a restart")
        within("unique stacks, after a restart", wick, before, BUDGET * MIB)
    TAP.end()


if len(sys.argv) == 3:
    become_stranger()
    send_unique(int(sys.argv[1]), time.monotonic() + float(sys.argv[2]))
else:
    main()
