// SPDX-License-Identifier: Apache-2.0
/*
 * describe [-s SOCKET ...] [-l LABEL ...] PID ...
 * Prints what wick says of processes beside their samples, a line for each: the pid, then KEY=value, with tabs between.
 * Engines of containers are asked only at the sockets that are given.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "proc/containers.h"
#include "proc/description.h"

#define LOOK_NS 2000000000ull
#define LISTED_MAX 16
#define TRIES_MAX 400

static void describe(u32 pid, const struct description_options *options)
{
	struct description d = { 0 };
	char path[64], exe[PATH_MAX];
	ssize_t len;

	(void)snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	exe[len < 0 ? 0 : len] = '\0';
	/* Once as at its first sample, once as at a later one; and until its container is known. */
	for (u64 i = 0; i < 2 || (d.is_unsure && i < TRIES_MAX); i++) {
		description_update(&d, &(struct described){ .tid = pid, .pid = pid, .exe_path = exe }, options,
				   1 + i * LOOK_NS);
		if (d.is_unsure)
			(void)usleep(10000);
	}
	printf("%u", pid);
	for (u32 at = 0; at < d.bytes; at += (u32)strlen(d.text + at) + 1)
		printf("\t%s", d.text + at);
	printf("\n");
	description_done(&d);
}

int main(int argc, char **argv)
{
	const char *sockets[LISTED_MAX], *labels[LISTED_MAX];
	struct containers_options asked = { .sockets = sockets, .labels = { labels, 0 } };
	struct description_options options = { 0 };
	struct containers_stats stats;
	struct buf why;
	int option;

	while ((option = getopt(argc, argv, "s:l:")) > 0) {
		if (option == 's' && asked.socket_count < LISTED_MAX)
			sockets[asked.socket_count++] = optarg;
		else if (option == 'l' && asked.labels.count < LISTED_MAX)
			labels[asked.labels.count++] = optarg;
		else
			return 2;
	}
	asked.is_off = !asked.socket_count;
	buf_init(&why, 1024);
	if (containers_new(&asked, &options.containers, &why) < 0) {
		fprintf(stderr, "%s\n", why.data);
		return 1;
	}
	for (int i = optind; i < argc; i++)
		describe((u32)strtoul(argv[i], NULL, 10), &options);
	stats = containers_stats(options.containers);
	fprintf(stderr, "asked %llu found %llu failed %llu\n", (unsigned long long)stats.asked,
		(unsigned long long)stats.found, (unsigned long long)stats.failed);
	containers_free(options.containers);
	buf_done(&why);
	return 0;
}
