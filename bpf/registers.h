/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/* The user registers of the interrupted task, put in DWARF order. */
#ifndef BPF_REGISTERS_H
#define BPF_REGISTERS_H

#include "kernel.h"
#include "unwind.h"

/* Size of a kernel stack; only used where the kernel cannot tell (before v5.15). */
const volatile u32 thread_bytes = 16384;

/* Volatile, lest the compiler compute addresses inside the context, which the verifier refuses to follow. */
#define CONTEXT(field) (*(const volatile __typeof__(ctx->regs.field) *)&ctx->regs.field)

#if defined(__TARGET_ARCH_arm64)
#define PSTATE_EL 0xf
#define PSTATE_32BIT 0x10

static __always_inline int registers_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return (CONTEXT(pstate) & PSTATE_EL) == 0;
}

static __always_inline int registers_are_32bit(const struct kernel_regs *regs)
{
	return (regs->pstate & PSTATE_32BIT) != 0;
}

static __always_inline void registers_of_context(struct bpf_perf_event_data *ctx, struct kernel_regs *regs)
{
#define R(n) regs->regs[n] = CONTEXT(regs[n]);
	R(0) R(1) R(2) R(3) R(4) R(5) R(6) R(7) R(8) R(9) R(10) R(11) R(12) R(13) R(14) R(15) R(16) R(17) R(18) R(19)
	R(20) R(21) R(22) R(23) R(24) R(25) R(26) R(27) R(28) R(29) R(30)
#undef R
	regs->sp = CONTEXT(sp);
	regs->pc = CONTEXT(pc);
	regs->pstate = CONTEXT(pstate);
	regs->syscallno = -1;
}

/* A system call leaves the address behind it; a fault, that of the instruction itself. */
static __always_inline int registers_in_syscall(const struct kernel_regs *regs)
{
	return regs->syscallno != -1;
}

static __always_inline s32 registers_syscall(const struct kernel_regs *regs)
{
	return regs->syscallno;
}

static __always_inline void registers_to_dwarf(const struct kernel_regs *regs, struct slice_regs *to)
{
	__builtin_memcpy(to->reg, regs->regs, sizeof(regs->regs));
	to->reg[REG_SP] = regs->sp;
	to->pc = regs->pc;
}
#else
#define CS_32BIT 0x23

static __always_inline int registers_in_user_mode(struct bpf_perf_event_data *ctx)
{
	return (CONTEXT(cs) & 3) != 0;
}

static __always_inline int registers_are_32bit(const struct kernel_regs *regs)
{
	return (u16)regs->cs == CS_32BIT;
}

static __always_inline void registers_of_context(struct bpf_perf_event_data *ctx, struct kernel_regs *regs)
{
	regs->r15 = CONTEXT(r15);
	regs->r14 = CONTEXT(r14);
	regs->r13 = CONTEXT(r13);
	regs->r12 = CONTEXT(r12);
	regs->bp = CONTEXT(rbp);
	regs->bx = CONTEXT(rbx);
	regs->r11 = CONTEXT(r11);
	regs->r10 = CONTEXT(r10);
	regs->r9 = CONTEXT(r9);
	regs->r8 = CONTEXT(r8);
	regs->ax = CONTEXT(rax);
	regs->cx = CONTEXT(rcx);
	regs->dx = CONTEXT(rdx);
	regs->si = CONTEXT(rsi);
	regs->di = CONTEXT(rdi);
	regs->ip = CONTEXT(rip);
	regs->sp = CONTEXT(rsp);
	regs->cs = CONTEXT(cs);
	regs->orig_ax = ~0ULL;
}

/* The instruction `syscall` leaves the address behind it in rcx. */
static __always_inline int registers_in_syscall(const struct kernel_regs *regs)
{
	return regs->cx == regs->ip && (s64)regs->orig_ax >= 0;
}

static __always_inline s32 registers_syscall(const struct kernel_regs *regs)
{
	return (s32)regs->orig_ax;
}

static __always_inline void registers_to_dwarf(const struct kernel_regs *regs, struct slice_regs *to)
{
	to->reg[0] = regs->ax;
	to->reg[1] = regs->dx;
	to->reg[2] = regs->cx;
	to->reg[3] = regs->bx;
	to->reg[4] = regs->si;
	to->reg[5] = regs->di;
	to->reg[6] = regs->bp;
	to->reg[7] = regs->sp;
	to->reg[8] = regs->r8;
	to->reg[9] = regs->r9;
	to->reg[10] = regs->r10;
	to->reg[11] = regs->r11;
	to->reg[12] = regs->r12;
	to->reg[13] = regs->r13;
	to->reg[14] = regs->r14;
	to->reg[15] = regs->r15;
	to->reg[REG_RA] = regs->ip;
	to->pc = regs->ip;
}
#endif

/* Where the kernel saved the user registers when the task entered it, of kernels that do not tell (before v5.15). */
static __always_inline int registers_on_stack(struct task_struct *task, struct kernel_regs *regs)
{
	const char *at = (const char *)BPF_CORE_READ(task, stack) + thread_bytes - bpf_core_type_size(struct pt_regs);

	return bpf_probe_read_kernel(regs, sizeof(*regs), at);
}

/* The same of any kernel; the verifier has to know the task as one. */
static __always_inline int registers_of_task(struct task_struct *task, struct kernel_regs *regs)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return registers_on_stack(task, regs);
	return bpf_probe_read_kernel(regs, sizeof(*regs), (const void *)bpf_task_pt_regs(task));
}

static __always_inline int registers_of_current(struct task_struct *task, struct kernel_regs *regs)
{
	if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return registers_on_stack(task, regs);
	return registers_of_task(bpf_get_current_task_btf(), regs);
}

#endif
