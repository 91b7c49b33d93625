#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DNS rebinding: a page in somebody's browser has a name that its owner now points at this machine, so that the browser
lets it talk to what listens here. Requests with such a name are refused; those by the machine's own names are not.
Prints TAP."""
import os
import socket
import tempfile

from attack import PAYLOAD, TAP, Wick, free_port, get, own_address, post
from harness import METHOD, grpc



def config(http, grpc_port, folder, where="127.0.0.1"):
    return {"receivers": {"otlp": {"protocols": {
        "http": {"endpoint": f"{where}:{http}", "allowed_hosts": ["collector.example"]},
        "grpc": {"endpoint": f"{where}:{grpc_port}"}}}},
        "exporters": {"store": {"path": os.path.join(folder, "store")}},
        "service": {"pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def grpc_status(address, port, host):
    """What a gRPC client gets that calls the server by that name."""
    options = [("grpc.default_authority", host), ("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"{address}:{port}", options) as channel:
        try:
            channel.unary_unary(METHOD)(PAYLOAD, timeout=20)
            return "OK"
        except grpc.RpcError as error:
            return error.code().name


def names_here():
    """Names by which senders on this machine find it."""
    with open("/etc/hosts", encoding="utf-8") as file:
        known = [line.split("#")[0].split()[1:] for line in file if line.split("#")[0].split()]
    return ["localhost", "127.0.0.1", "[::1]", socket.gethostname(), "collector.example"] + sum(known, [])[:4]


def by_loopback(folder):
    http, grpc_port = free_port(), free_port()
    with Wick(config(http, grpc_port, folder), (http, grpc_port)) as wick:
        for host in ("evil.example", f"evil.example:{http}", "localhost.evil.example", f"{socket.gethostname()}.evil.example"):
            status = post(http, PAYLOAD, {"host": host})
            TAP.check(f"OTLP/HTTP as {host} is refused", status in (403, 421), str(status))
            status, _ = get(wick.metrics_port, "/metrics", {"host": host})
            TAP.check(f"/metrics as {host} is refused", status in (403, 421), str(status))
            status = grpc_status("127.0.0.1", grpc_port, host)
            TAP.check(f"OTLP/gRPC as {host} is refused", status == "PERMISSION_DENIED", status)
        for host in names_here():
            status = post(http, PAYLOAD, {"host": f"{host}:{http}"})
            TAP.check(f"OTLP/HTTP as {host} is taken", status == 200, str(status))
        for host in ("localhost", socket.gethostname()):
            status = grpc_status("127.0.0.1", grpc_port, host)
            TAP.check(f"OTLP/gRPC as {host} is taken", status == "OK", status)
            status, _ = get(wick.metrics_port, "/metrics", {"host": host})
            TAP.check(f"/metrics as {host} is served", status == 200, str(status))
        TAP.check("what was refused is counted", wick.metric("wick_server_refused_total", reason="host") >= 8)


def by_network(folder):
    """Others know this machine by names that it does not know itself."""
    address, http, grpc_port = own_address(), free_port(), free_port()
    if not address:
        TAP.skip("senders of other machines", "there is no address but loopback")
        return
    with Wick(config(http, grpc_port, folder, "0.0.0.0"), (http, grpc_port)):
        status = grpc_status(address, grpc_port, "collector.monitoring.svc")
        TAP.check("OTLP/gRPC from another machine may use any name", status == "OK", status)


def main():
    with tempfile.TemporaryDirectory() as folder:
        by_loopback(folder)
    with tempfile.TemporaryDirectory() as folder:
        by_network(folder)
    TAP.end()


main()
