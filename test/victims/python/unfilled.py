#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two Pythons at work. The first has the name of its function's file in memory that is never there: whoever touches it
waits until it is filled in (userfaultfd), which nobody does. Python itself does not touch it. Says both pids, or
nothing where the kernel has no such memory. Works until it is killed.
"""
import ctypes
import fcntl
import os
import platform
import signal
import struct
import sys

USERFAULTFD = {"x86_64": 323, "aarch64": 282}[platform.machine()]
UFFDIO_API = 0xC018AA3F
UFFDIO_REGISTER = 0xC020AA00
PAGE = 4096
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


def unfilled_page():
    fd = libc.syscall(USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "userfaultfd")
    fcntl.ioctl(fd, UFFDIO_API, bytearray(struct.pack("QQQ", 0xAA, 0, 0)))
    libc.mmap.restype = ctypes.c_void_p
    private, anonymous = 2, 0x20
    at = libc.mmap(None, ctypes.c_size_t(PAGE), 3, private | anonymous, -1, ctypes.c_long(0))
    fcntl.ioctl(fd, UFFDIO_REGISTER, bytearray(struct.pack("QQQQ", at, PAGE, 1, 0)))
    return at


def held_up():
    while True:
        sum(range(1000))


def plain():
    while True:
        sum(range(1000))


def main():
    try:
        page = unfilled_page()
    except OSError:
        return
    child = os.fork()
    if child == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        plain()
    code = held_up.__code__
    words = (ctypes.c_uint64 * (code.__sizeof__() // 8)).from_address(id(code))
    words[list(words).index(id(code.co_filename))] = page
    print(os.getpid(), child, flush=True)
    held_up()


if __name__ == "__main__":
    sys.exit(main())
