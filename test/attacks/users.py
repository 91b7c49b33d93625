#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another user of the same machine asks the page, and gives it false names for root's programs. Prints TAP."""
import os
import re
import subprocess
import tempfile

from attack import PAYLOAD, STRANGER, TAP, Wick, free_port, own_address, wait_for

QUESTIONS = ("/", "/api/v1/status", "/api/v1/flame", "/debug/pprof/")


def config(port, folder, where="127.0.0.1", token=None):
    page = {"endpoint": f"{where}:{port}"}
    if token:
        page["token"] = token
    return {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"{where}:{port}"}}}},
            "exporters": {"store": {"path": os.path.join(folder, "store")}},
            "extensions": {"page": page},
            "service": {"extensions": ["page"],
                        "pipelines": {"profiles": {"receivers": ["otlp"], "exporters": ["store"]}}}}


def ask(user, url, *arguments):
    """The status that this user's curl gets."""
    done = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--max-time", "20", *arguments, url],
                          stdout=subprocess.PIPE, user=user, group=user, extra_groups=[], cwd="/", check=False)
    return int(done.stdout or 0)


def upload(user, port, path):
    return ask(user, f"http://127.0.0.1:{port}/api/v1/symbols", "--data-binary", f"@{path}")


def strangers(folder, port, elf):
    with Wick(config(port, folder), (port,)) as wick:
        for path in QUESTIONS:
            status = ask(STRANGER, f"http://127.0.0.1:{port}{path}")
            TAP.check(f"another user asks {path} and is refused", status == 401, str(status))
            status = ask(0, f"http://127.0.0.1:{port}{path}")
            TAP.check(f"root asks {path} and is answered", status == 200, str(status))
        status = upload(STRANGER, port, elf)
        TAP.check("another user's symbols are refused", status == 401, str(status))
        kept = os.path.join(folder, "store", "symbols")
        TAP.check("and not kept", not os.path.exists(kept) or not os.listdir(kept))
        status = upload(0, port, elf)
        TAP.check("root's symbols are taken", status == 200, str(status))
        status = ask(STRANGER, f"http://localhost:{port}/api/v1/status")
        TAP.check("nor by ::1 or localhost", status == 401, str(status))
        sent = os.path.join(folder, "payload")
        with open(sent, "wb") as file:
            file.write(PAYLOAD)
        os.chmod(sent, 0o644)
        status = ask(STRANGER, f"http://127.0.0.1:{port}/v1development/profiles", "-H",
                     "content-type: application/x-protobuf", "--data-binary", f"@{sent}")
        TAP.check("another user may send profiles as before", status == 200, str(status))
        TAP.check("the token of this run is not told where nobody needs it", "token=" not in wick.said())


def who_called_sudo(folder, port):
    os.environ["SUDO_UID"] = str(STRANGER)
    try:
        with Wick(config(port, folder), (port,)):
            status = ask(STRANGER, f"http://127.0.0.1:{port}/api/v1/status")
            TAP.check("who called sudo needs no token", status == 200, str(status))
            status = ask(STRANGER - 1, f"http://127.0.0.1:{port}/api/v1/status")
            TAP.check("but others do", status == 401, str(status))
    finally:
        del os.environ["SUDO_UID"]


def with_a_token(folder, port):
    with Wick(config(port, folder, token="sesame"), (port,)):
        status = ask(STRANGER, f"http://127.0.0.1:{port}/api/v1/status", "-H", "Authorization: Bearer sesame")
        TAP.check("another user with the operator's token is answered", status == 200, str(status))
        status = ask(STRANGER, f"http://127.0.0.1:{port}/api/v1/status", "-H", "Authorization: Bearer simsim")
        TAP.check("one with another token is not", status == 401, str(status))


def by_network(folder, port):
    address = own_address()
    if not address:
        TAP.skip("by the network", "there is no address but loopback")
        return
    with Wick(config(port, folder, "0.0.0.0"), (port,)) as wick:
        url = f"http://{address}:{port}/api/v1/status"
        TAP.check("over the network root needs a token, too", ask(0, url) == 401)
        wait_for(lambda: "token=" in wick.said(), 5)
        token = re.search(r"token=([0-9a-f]{32})", wick.said())
        TAP.check("the log tells the token of this run", bool(token))
        if token:
            status = ask(0, url, "-H", f"Authorization: Bearer {token.group(1)}")
            TAP.check("and it opens the page", status == 200, str(status))


def main():
    if os.geteuid() != 0:
        TAP.skip("other users", "needs root to become one")
        TAP.end()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        elf = os.path.join(folder, "elf")
        with open("/bin/true", "rb") as source, open(elf, "wb") as file:
            file.write(source.read())
        os.chmod(elf, 0o644)
        strangers(folder, free_port(), elf)
        who_called_sudo(folder, free_port())
        with_a_token(folder, free_port())
        by_network(folder, free_port())
    TAP.end()


main()
