# SPDX-License-Identifier: Apache-2.0
"""A mount with one file, served by a process of ours (FUSE) that can be told to stop answering."""
import ctypes
import errno
import os
import signal
import stat
import struct

LOOKUP, FORGET, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT, BATCH_FORGET = 1, 2, 3, 14, 15, 18, 25, 26, 42
ROOT, FILE = 1, 2
VALID_SECONDS = 0       # each look at the file asks the server
BLOCK = 1 << 17


class Served:
    """The file `name` below `folder`, with those bytes, from now until close()."""

    def __init__(self, folder, name, content):
        self.folder, self.name, self.content = folder, name, content
        self.fd = os.open("/dev/fuse", os.O_RDWR)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"wick-test", folder.encode(), b"fuse", 6, options):
            os.close(self.fd)
            raise OSError(ctypes.get_errno(), "mount")
        self.libc = libc
        self.pid = os.fork()
        if self.pid == 0:
            self.serve()
        os.close(self.fd)

    def stop(self):
        os.kill(self.pid, signal.SIGSTOP)

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self.libc.umount2(self.folder.encode(), 2)

    def attributes(self, node):
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
        size = 0 if node == ROOT else len(self.content)
        return struct.pack("<6Q10I", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, opcode, node, body):
        """(error, bytes), or None where none is wanted."""
        if opcode in (FORGET, BATCH_FORGET):
            return None
        if opcode == INIT:
            return 0, struct.pack("<4I2H2I2H8I", 7, 31, BLOCK, 0, 8, 8, BLOCK, 1, 0, 0, *[0] * 8)
        if opcode == LOOKUP and body.rstrip(b"\0") == self.name.encode():
            return 0, struct.pack("<4Q2I", FILE, 1, VALID_SECONDS, VALID_SECONDS, 0, 0) + self.attributes(FILE)
        if opcode == LOOKUP:
            return errno.ENOENT, b""
        if opcode == GETATTR:
            return 0, struct.pack("<Q2I", VALID_SECONDS, 0, 0) + self.attributes(node)
        if opcode == OPEN:
            return 0, struct.pack("<Q2I", 0, 2, 0)     # FOPEN_KEEP_CACHE
        if opcode == READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return 0, self.content[offset:offset + size]
        return (0, b"") if opcode in (RELEASE, FLUSH) else (errno.ENOSYS, b"")

    def serve(self):
        while True:
            try:
                request = os.read(self.fd, BLOCK + 4096)
            except OSError:
                os._exit(0)
            opcode, unique, node = struct.unpack_from("<IQQ", request, 4)
            answer = self.answer(opcode, node, request[40:])
            if answer:
                error, data = answer
                os.write(self.fd, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
