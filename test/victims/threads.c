// SPDX-License-Identifier: Apache-2.0
/* Eight named threads run the chain; each prints its own CPU time. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "victim.h"

#define THREADS 8

static uint64_t each_ns, used_ns[THREADS];

NOINLINE void *thread_body(void *index)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%d", (int)(intptr_t)index);
	pthread_setname_np(pthread_self(), name);
	victim_main(each_ns);
	used_ns[(intptr_t)index] = victim_cpu_ns();
	return NULL;
}

void victim_setup(int argc, char **argv)
{
	pthread_t threads[THREADS];

	(void)argc;
	(void)argv;
	each_ns = victim_budget_ns / THREADS;
	victim_budget_ns = 0;
	for (intptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, thread_body, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("{\"threads\": {");
	for (int i = 0; i < THREADS; i++)
		printf("%s\"worker-%d\": %" PRIu64, i ? ", " : "", i, used_ns[i]);
	printf("}}\n");
}
