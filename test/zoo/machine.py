# SPDX-License-Identifier: Apache-2.0
"""The code of a file, as the judge sees it: which bytes are where, where functions begin and end, what calls and jumps.

Nothing here is wick's: bytes come from the file, functions from its symbols and FDEs, instructions from capstone."""
import bisect
import functools
import os
import struct
import sys

import capstone

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import elf                                                      # noqa: E402  (a neighbour of this folder)

PT_LOAD, PT_GNU_EH_FRAME = 1, 0x6474e550
PF_X = 1
CALL_BYTES_MAX = 7
FUNCTION_BYTES_MAX = 1 << 20
REACHED_MAX = 64                # functions that a chain of jumps is followed through
SIGRETURN = (bytes.fromhex("48c7c00f0000000f05"), bytes.fromhex("b80f0000000f05"))
START_CONTEXT = (bytes.fromhex("4889dc488b3c24"), bytes.fromhex("4889dc"))

DISASSEMBLER = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
DISASSEMBLER.detail = True


class Instruction:
    """call, jump or branch: kind is one of those, or "end" (nothing follows), or ""; target is None if it is not told."""
    __slots__ = ("ea", "bytes", "kind", "target")

    def __init__(self, insn):
        self.ea, self.bytes, self.kind, self.target = insn.address, insn.size, "", None
        operand = insn.operands[0] if insn.operands else None
        direct = operand is not None and operand.type == capstone.x86.X86_OP_IMM
        if insn.group(capstone.CS_GRP_CALL):
            self.kind = "call"
        elif insn.group(capstone.CS_GRP_JUMP):
            self.kind = "jump" if insn.mnemonic.split()[-1] == "jmp" else "branch"
        elif insn.group(capstone.CS_GRP_RET) or insn.mnemonic in ("ud2", "hlt", "int3"):
            self.kind = "end"
        if self.kind in ("call", "jump", "branch") and direct:
            self.target = operand.imm & (1 << 64) - 1


class Code:
    def __init__(self, path):
        self.elf = elf.load(path)
        if not self.elf or self.elf.machine != 62:
            raise ValueError(f"{path} is not an x86-64 file")
        self.loads = [(s[3], s[3] + s[5], s[2]) for s in self.elf.segments if s[0] == PT_LOAD and s[1] & PF_X]
        self.fdes = self.read_fde_table()
        self.fde_starts = [start for start, _ in self.fdes]
        self.go = self.read_go_functions()
        self.go_starts = [start for start, _ in self.go]
        self.reaches = {}

    def bytes_at(self, ea, count):
        for start, end, offset in self.loads:
            if start <= ea < end:
                at = offset + ea - start
                return self.elf.bytes[at:at + min(count, end - ea)]
        return b""

    # ---- Functions ----

    def read_fde_table(self):
        """Sorted (start, address of the FDE), from the search table of .eh_frame_hdr."""
        for kind, _, offset, ea, _, size, _, _ in self.elf.segments:
            if kind != PT_GNU_EH_FRAME or size < 12 or self.elf.bytes[offset + 1:offset + 4] != b"\x1b\x03\x3b":
                continue
            count = struct.unpack_from("<I", self.elf.bytes, offset + 8)[0]
            count = min(count, (size - 12) // 8)
            words = struct.unpack_from(f"<{2 * count}i", self.elf.bytes, offset + 12)
            return sorted((ea + words[2 * i], ea + words[2 * i + 1]) for i in range(count))
        return []

    def data_at(self, ea, count):
        for kind, _, offset, start, _, size, _, _ in self.elf.segments:
            if kind == PT_LOAD and start <= ea and ea + count <= start + size:
                return self.elf.bytes[offset + ea - start:offset + ea - start + count]
        return b"\0" * count

    def fde_end(self, index):
        """Where a function ends by its FDE, of the usual encoding: a start and a length of four bytes each."""
        start, at = self.fdes[index]
        length = struct.unpack("<I", self.data_at(at + 12, 4))[0]
        return start + length

    def function(self, ea):
        """(start, end) of the function at an address; None if neither an FDE nor a symbol with a size tells."""
        index = bisect.bisect_right(self.fde_starts, ea) - 1
        if index >= 0:
            end = self.fde_end(index)
            if self.fde_starts[index] <= ea < end:
                return self.fde_starts[index], end
        covering = self.elf.covering(ea)
        if covering:
            start, size, _ = min(covering, key=lambda s: s[1])
            return start, start + size
        return None

    def names(self, ea):
        """What symbols call the function there."""
        index = bisect.bisect_right(self.go_starts, ea) - 1
        go = {self.go[index][1]} if index >= 0 else set()
        return go | {name.split("@")[0] for _, _, name in self.elf.covering(ea)} | {
            name.split("@")[0] for name in self.elf.unsized_at_or_before(ea)}

    def section(self, wanted):
        """(address, bytes) of a section by name, or None."""
        names = self.elf.sections[struct.unpack_from("<H", self.elf.bytes, 62)[0]] if self.elf.sections else None
        for name, _, _, ea, offset, size, _, _, _, _ in self.elf.sections:
            at = names[4] + name
            if self.elf.bytes[at:at + len(wanted) + 1] == wanted.encode() + b"\0":
                return ea, self.elf.bytes[offset:offset + size]
        return None

    def read_go_functions(self):
        """Sorted (start, name), from the table that Go keeps in a stripped program too (of Go 1.18 and later)."""
        found = self.section(".gopclntab") or self.section(".data.rel.ro.gopclntab")
        if not found or struct.unpack_from("<I", found[1])[0] not in (0xfffffff0, 0xfffffff1):
            return []
        data = found[1]
        count, _, text, names, _, _, _, functions = struct.unpack_from("<8Q", data, 8)
        text = text or (self.section(".text") or (0,))[0]
        result = []
        for i in range(count):
            start, at = struct.unpack_from("<II", data, functions + 8 * i)
            name = names + struct.unpack_from("<i", data, functions + at + 4)[0]
            result.append((text + start, data[name:data.index(b"\0", name)].decode(errors="replace")))
        return result

    # ---- Instructions ----

    def instructions(self, start, end):
        for insn in DISASSEMBLER.disasm(self.bytes_at(start, min(end - start, FUNCTION_BYTES_MAX)), start):
            yield Instruction(insn)

    @functools.lru_cache(maxsize=None)
    def call_before(self, ea):
        """The call that returns to ea, or None: some 2 to 7 bytes before it must be one."""
        for count in range(2, CALL_BYTES_MAX + 1):
            code = self.bytes_at(ea - count, count)
            if len(code) < count:
                continue
            insn = next(DISASSEMBLER.disasm(code, ea - count, 1), None)
            if insn and insn.size == count and insn.group(capstone.CS_GRP_CALL):
                return Instruction(insn)
        return None

    def leaves(self, function):
        """(other functions that this one jumps to or falls into, whether it also jumps to where nobody can tell)."""
        start, end = function
        targets, anywhere, last = set(), False, None
        for last in self.instructions(start, end):
            if last.kind in ("jump", "branch") and last.target is None:
                anywhere = True
            elif last.kind in ("jump", "branch") and not start <= last.target < end:
                targets.add(last.target)
        if last is None or last.ea + last.bytes < end:
            anywhere = True                                     # not all of it could be read
        elif last.kind not in ("jump", "end", "call"):
            targets.add(end)
        return targets, anywhere

    def may_reach(self, target, callee_ea):
        """Can a call of target have led to the function at callee_ea, by jumps alone? True where nobody can tell."""
        callee = self.function(callee_ea)
        first = self.function(target)
        if not callee or not first:
            return True
        key = (target, callee[0])
        if key not in self.reaches:
            self.reaches[key] = self.search(first, target, callee)
        return self.reaches[key]

    def search(self, first, target, callee):
        seen, work = set(), [first]
        while work:
            function = work.pop()
            if function == callee:
                return True
            if function in seen:
                continue
            seen.add(function)
            if len(seen) > REACHED_MAX:
                return True
            targets, anywhere = self.leaves(function)
            if anywhere:
                return True
            for to in targets:
                found = self.function(to)
                if not found:
                    return True
                work.append(found)
        return False

    # ---- What stands for itself ----

    def is_trampoline(self, ea):
        """A signal handler returns here: rt_sigreturn. In the kernel, the address is the one behind the call."""
        return any(self.bytes_at(at, len(code)) == code for code in SIGRETURN for at in range(ea - len(code), ea + 2))

    def is_start_context(self, ea):
        """glibc's __start_context: nobody calls it, makecontext() lets a function return to it."""
        for at in (ea, ea + 1):
            code = self.bytes_at(at, 11)
            code = code[4:] if code.startswith(b"\xf3\x0f\x1e\xfa") else code
            if any(code.startswith(known) for known in START_CONTEXT) and not self.call_before(at):
                return True
        return False

    def is_thread_start(self, ea):
        """Behind the system call in clone() or clone3(): rbp is zeroed, then the thread's function is called."""
        code = self.bytes_at(ea - 48, 49)
        call = self.call_before(ea + 1)
        if not call or call.target is not None:
            return False
        kernel = code.rfind(b"\x0f\x05")
        return kernel >= 0 and (code.find(b"\x31\xed", kernel) >= 0 or code.find(b"\x48\x31\xed", kernel) >= 0)


@functools.lru_cache(maxsize=None)
def load(path):
    """The code of a file, or None if it cannot be read here."""
    try:
        return Code(path)
    except (OSError, ValueError, struct.error):
        return None
