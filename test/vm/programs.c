// SPDX-License-Identifier: Apache-2.0
/*
 * What this kernel's verifier says to each program of our BPF objects:
 *
 *	programs FILE.bpf.o ...
 *
 * One line each: the program, and the verifier's statistics or why it refuses.
 * Programs are loaded one at a time, so that one does not hide the other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <bpf/libbpf.h>

#define LOG_STATS 4	/* BPF_LOG_STATS */
#define LOG_TAIL 2000

static char log_text[16u << 20];

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level, (void)format, (void)args;
	return 0;
}

/* Loads the object with that one program; 1 if there is no such, -1 if it is refused. */
static int try_program(const char *path, int number)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program, *chosen = NULL;
	struct bpf_map *map;
	const char *stats;
	int i = 0, r;

	if (!object) {
		printf("%s: cannot be opened\n", path);
		exit(1);
	}
	/* A map that this kernel does not have the loader leaves out, too. */
	bpf_object__for_each_map(map, object)
		if (libbpf_probe_bpf_map_type(bpf_map__type(map), NULL) == 0)
			bpf_map__set_autocreate(map, false);
	bpf_object__for_each_program(program, object) {
		bool is_chosen = i++ == number;

		bpf_program__set_autoload(program, is_chosen);
		if (is_chosen)
			chosen = program;
	}
	if (!chosen)
		return bpf_object__close(object), 1;
	log_text[0] = 0;
	bpf_program__set_log_buf(chosen, log_text, sizeof(log_text));
	bpf_program__set_log_level(chosen, LOG_STATS);
	r = bpf_object__load(object);
	stats = strstr(log_text, "processed ");
	if (r == 0) {
		printf("%s: %.*s\n", bpf_program__name(chosen), (int)strcspn(stats ? stats : "", "\n"), stats);
	} else {
		size_t length = strlen(log_text);

		printf("%s: refused: %s\n%s\n", bpf_program__name(chosen), strerror(-r),
		       log_text + (length > LOG_TAIL ? length - LOG_TAIL : 0));
	}
	bpf_object__close(object);
	return r ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int failed = 0;

	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	libbpf_set_print(quiet);
	for (int i = 1; i < argc; i++) {
		int r;

		for (int number = 0; (r = try_program(argv[i], number)) <= 0; number++)
			failed |= r < 0;
	}
	return failed;
}
