// SPDX-License-Identifier: Apache-2.0
/*
 * Between outer() and the leaves lies generated code, of which a perf map tells, or, with -DJITDUMP, a jitdump file,
 * or, with -DGDB, an ELF file in memory, as GDB asks for; that code keeps no frame pointer and has no tables.
 * With -DSILENT nobody tells of such code. With -DMEMFD it is written by one mapping of a memfd and run from another.
 */
#include <elf.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "victim.h"

#if defined(__aarch64__)
#define MACHINE EM_AARCH64
static const uint32_t code[] = { 0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0 };
#elif defined(GDB) || defined(SILENT)
#define MACHINE EM_X86_64
/* push %rbp; push %rbx; sub $0x88,%rsp; mov $8,%ebp; call *%rsi; and back */
static const uint8_t code[] = { 0x55, 0x53, 0x48, 0x81, 0xec, 0x88, 0, 0, 0, 0xbd, 8, 0, 0, 0, 0xff, 0xd6,
				0x48, 0x81, 0xc4, 0x88, 0, 0, 0, 0x5b, 0x5d, 0xc3 };
#else
/* push %rbp; mov %rsp,%rbp; call *%rsi; pop %rbp; ret */
static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3 };
#endif

static uint64_t (*generated)(uint64_t n, uint64_t (*callee)(uint64_t n));
static char path[64];

static NOINLINE uint64_t middle(uint64_t n)
{
	LEAVES(n);
	return n;
}

NOINLINE uint64_t outer(uint64_t n)
{
	uint64_t x = generated(n, middle);

	NO_TAIL();
	return x;
}

static void forget(void)
{
	unlink(path);
}

#ifdef JITDUMP
static const char source[] = "generated.src";
static const char name[] = "generated_caller";

static void put(int fd, const void *at, size_t bytes)
{
	if (write(fd, at, bytes) != (ssize_t)bytes)
		abort();
}

static void tell(void)
{
	uint64_t va = (uint64_t)(uintptr_t)generated, now = (uint64_t)time(NULL);
	uint32_t header[10] = { 0x4a695444, 1, 40, 62, 0, (uint32_t)getpid() };
	struct { uint32_t id, bytes; uint64_t time, va, count, entry_va; int32_t line, discriminator; } lines = {
		2, sizeof(lines) + sizeof(source), now, va, 1, va, 42, 0 };
	struct { uint32_t id, bytes; uint64_t time; uint32_t pid, tid; uint64_t vma, va, size, number; } load = {
		0, sizeof(load) + sizeof(name) + sizeof(code), now, (uint32_t)getpid(), (uint32_t)getpid(), va, va,
		sizeof(code), 1 };
	int fd;

	snprintf(path, sizeof(path), "/tmp/jit-%d.dump", getpid());
	fd = open(path, O_CREAT | O_RDWR | O_TRUNC, 0600);
	put(fd, header, sizeof(header));
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		abort();
	put(fd, &lines, sizeof(lines));
	put(fd, source, sizeof(source));
	put(fd, &load, sizeof(load));
	put(fd, name, sizeof(name));
	put(fd, code, sizeof(code));
	close(fd);
}
#elif defined(GDB)
struct entry {
	struct entry *next, *previous;
	const void *file;
	uint64_t bytes;
};

struct {
	uint32_t version, action;
	struct entry *changed, *first;
} __jit_debug_descriptor = { 1, 0, NULL, NULL };

NOINLINE void __jit_debug_register_code(void)
{
	NO_TAIL();
}

static const char names[] = "\0generated_caller";

/* As LLVM does: an object file whose sections know where they were loaded to. */
static struct {
	Elf64_Ehdr header;
	Elf64_Shdr section[4];
	Elf64_Sym symbol[2];
	char names[sizeof(names)];
} object;

static void tell(void)
{
	static struct entry entry = { .file = &object, .bytes = sizeof(object) };

	object.header = (Elf64_Ehdr){
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_REL, .e_machine = MACHINE, .e_version = EV_CURRENT,
		.e_shoff = offsetof(__typeof__(object), section), .e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 3,
	};
	object.section[1] = (Elf64_Shdr){ .sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					  .sh_addr = (uint64_t)(uintptr_t)generated, .sh_size = sizeof(code) };
	object.section[2] = (Elf64_Shdr){ .sh_type = SHT_SYMTAB, .sh_link = 3, .sh_entsize = sizeof(Elf64_Sym),
					  .sh_offset = offsetof(__typeof__(object), symbol),
					  .sh_size = sizeof(object.symbol) };
	object.section[3] = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = offsetof(__typeof__(object), names),
					  .sh_size = sizeof(names) };
	object.symbol[1] = (Elf64_Sym){ .st_name = 1, .st_info = STT_FUNC, .st_shndx = 1, .st_size = sizeof(code) };
	memcpy(object.names, names, sizeof(names));
	__jit_debug_descriptor.first = __jit_debug_descriptor.changed = &entry;
	__jit_debug_descriptor.action = 1;
	__jit_debug_register_code();
}
#elif defined(SILENT)
static void tell(void)
{
}
#else
static void tell(void)
{
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	file = fopen(path, "w");
	fprintf(file, "%llx %zx generated_caller\n", (unsigned long long)(uintptr_t)generated, sizeof(code));
	fclose(file);
}
#endif

#ifdef MEMFD
static void *make_code(void)
{
	int fd = memfd_create("doublemapper", 0);

	if (fd < 0 || ftruncate(fd, 4096) || pwrite(fd, code, sizeof(code), 0) != sizeof(code))
		abort();
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
}
#else
static void *make_code(void)
{
	void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		abort();
	return at;
}
#endif

void victim_setup(int argc, char **argv)
{
	void *at = make_code();

	__builtin___clear_cache(at, (char *)at + sizeof(code));
	generated = (uint64_t (*)(uint64_t, uint64_t (*)(uint64_t)))at;
	tell();
	atexit(forget);
}
