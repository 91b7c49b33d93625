#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ask.py CLIENTS QUESTIONS: a server that answers each question with some work, and clients that ask one at a time."""
import socket
import sys
import threading


def serve(listener, clients):
    def answer(connection):
        while connection.recv(64):
            connection.sendall(b"%d" % sum(i * i for i in range(300)))

    for _ in range(clients):
        threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()


def ask(port, questions):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(questions):
            connection.sendall(b"?")
            connection.recv(64)


def main():
    clients, questions = int(sys.argv[1]), int(sys.argv[2])
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=serve, args=(listener, clients), daemon=True).start()
    threads = [threading.Thread(target=ask, args=(listener.getsockname()[1], questions)) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
