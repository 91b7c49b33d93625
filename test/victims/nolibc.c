// SPDX-License-Identifier: Apache-2.0
/*
 * The plain chain without libc, its own _start included: a static program as
 * Zig makes them, and, built with -m32, a 32-bit one that needs no 32-bit libc.
 */
#include "victim.h"

#if defined(__x86_64__)
enum { SYS_WRITE = 1, SYS_EXIT = 60, SYS_GETPID = 39, SYS_CLOCK_GETTIME = 228 };
#elif defined(__i386__)
enum { SYS_WRITE = 4, SYS_EXIT = 1, SYS_GETPID = 20, SYS_CLOCK_GETTIME = 265 };
#elif defined(__aarch64__)
enum { SYS_WRITE = 64, SYS_EXIT = 93, SYS_GETPID = 172, SYS_CLOCK_GETTIME = 113 };
#endif
#define CLOCK_THREAD_CPUTIME_ID 3
#define ROUND_US 10000

struct spec {
	long sec, nsec;
};

volatile uint64_t victim_sink;
static uint32_t spent_us[LEAF_COUNT];

static long raw_syscall(long number, long a, long b, long c)
{
#if defined(__x86_64__)
	__asm__ volatile("syscall" : "+a"(number) : "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return number;
#elif defined(__i386__)
	__asm__ volatile("int $0x80" : "+a"(number) : "b"(a), "c"(b), "d"(c) : "memory");
	return number;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
	return x0;
#endif
}

static uint32_t cpu_us(void)
{
	struct spec t;

	raw_syscall(SYS_CLOCK_GETTIME, CLOCK_THREAD_CPUTIME_ID, (long)&t, 0);
	return (uint32_t)t.sec * 1000000u + (uint32_t)t.nsec / 1000u;
}

#define LEAF(name)								\
	NOINLINE uint32_t name(uint32_t n)					\
	{									\
		uint32_t x = n;							\
										\
		for (; n; n--) {						\
			x = x * 1664525u + n;					\
			__asm__ volatile("" : "+r"(x));				\
		}								\
		return x;							\
	}

LEAF(bare_leaf_a)
LEAF(bare_leaf_b)
LEAF(bare_leaf_c)

NOINLINE uint32_t middle(uint32_t n)
{
	uint32_t from = cpu_us(), now;

	victim_sink += bare_leaf_a(6 * n);
	now = cpu_us();
	spent_us[LEAF_A] += now - from;
	victim_sink += bare_leaf_b(3 * n);
	from = cpu_us();
	spent_us[LEAF_B] += from - now;
	victim_sink += bare_leaf_c(n);
	spent_us[LEAF_C] += cpu_us() - from;
	return n;
}

NOINLINE uint32_t bare_outer(uint32_t n)
{
	uint32_t r = middle(n);

	NO_TAIL();
	return r + 1;
}

NOINLINE void bare_main(uint32_t budget_us)
{
	uint32_t start = cpu_us(), now = start, n = 1000;

	while (now - start < budget_us) {
		uint32_t from = now;

		victim_sink += bare_outer(n);
		now = cpu_us();
		if (now - from < ROUND_US / 2)
			n *= 2;
	}
}

static void print(const char *text)
{
	long bytes = 0;

	while (text[bytes])
		bytes++;
	raw_syscall(SYS_WRITE, 1, (long)text, bytes);
}

static void print_number(uint32_t value)
{
	char text[12], *at = text + 11;

	*at = 0;
	do {
		*--at = (char)('0' + value % 10);
	} while (value /= 10);
	print(at);
}

/* Seconds are whole, or have one digit after the point. */
static uint32_t parse_us(const char *text)
{
	uint32_t value = 0, unit = 1000000;

	for (; text && *text; text++) {
		if (*text == '.') {
			unit = 100000;
			continue;
		}
		value = value * 10 + (uint32_t)(*text - '0');
		if (unit != 1000000)
			break;
	}
	return value * unit;
}

NOINLINE __attribute__((noreturn)) void bare_start(long *stack)
{
	char **argv = (char **)(stack + 1);

	bare_main(stack[0] > 1 ? parse_us(argv[1]) : 1000000);
	print("{\"pid\": ");
	print_number((uint32_t)raw_syscall(SYS_GETPID, 0, 0, 0));
	print(", \"leaf_a\": ");
	print_number(spent_us[LEAF_A]);
	print("000, \"leaf_b\": ");
	print_number(spent_us[LEAF_B]);
	print("000, \"leaf_c\": ");
	print_number(spent_us[LEAF_C]);
	print("000}\n");
	for (;;)
		raw_syscall(SYS_EXIT, 0, 0, 0);
}

#if defined(__x86_64__)
__asm__(".globl _start\n.type _start, @function\n_start:\n.cfi_startproc\n.cfi_undefined rip\n"
	"xor %ebp, %ebp\nmov %rsp, %rdi\nand $-16, %rsp\ncall bare_start\nhlt\n"
	".cfi_endproc\n.size _start, . - _start\n");
#elif defined(__i386__)
__asm__(".globl _start\n.type _start, @function\n_start:\n"
	"xor %ebp, %ebp\nmov %esp, %eax\nand $-16, %esp\nsub $12, %esp\npush %eax\ncall bare_start\nhlt\n"
	".size _start, . - _start\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n.type _start, %function\n_start:\n.cfi_startproc\n.cfi_undefined x30\n"
	"mov x29, xzr\nmov x30, xzr\nmov x0, sp\nbl bare_start\n.cfi_endproc\n.size _start, . - _start\n");
#endif
