# SPDX-License-Identifier: Apache-2.0
"""Page faults of a program that touches a known number of pages in a known function, against what the kernel counted of it."""
PAGES = 20000

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt + usage.ru_majflt;
}

__attribute__((noinline)) void touch_pages(volatile char *at, long pages)
{
	for (long i = 0; i < pages; i++)
		at[i * 4096] = 1;
	asm volatile("" ::: "memory");
}

int main(int argc, char **argv)
{
	long pages = atol(argv[1]), before;
	char *at = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(at, pages * 4096, MADV_NOHUGEPAGE);
	sleep(1);	/* its unwind tables are there by then */
	before = faults();
	touch_pages(at, pages);
	printf("%ld\n", faults() - before);
	return 0;
}
"""


def check(tap, tools):
    victim = tools.compile_c("touch", SOURCE)
    for kinds, slack in (("faults", 0), ("cpu,faults", 0), ("faults:16", 16 * tools.cpus())):
        found = tools.record(tap, kinds, victim, str(PAGES))
        if not found:
            continue
        counted, lost = int(found.printed), found.lost()
        sampled = found.value("page-faults", "touch_pages")
        tap.note(f"-e {kinds}: the kernel counted {counted} faults, {sampled} were sampled in touch_pages(), {lost} lost")
        tap.check(f"-e {kinds}: the kernel counts each page once", PAGES <= counted < PAGES + 50)
        tap.check(f"-e {kinds}: every fault of touch_pages() is sampled, or counted as lost",
                  sampled <= PAGES + slack and sampled + lost >= PAGES - slack)
        tap.check(f"-e {kinds}: main() called it", found.value("page-faults", "main", "touch_pages") == sampled)
        tap.check(f"-e {kinds}: no other kind is sampled", found.types() <= {"page-faults"} | ({"samples"} if "cpu" in kinds else set()))
