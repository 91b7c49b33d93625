// SPDX-License-Identifier: Apache-2.0
#include "tracer/requests.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "exe/lang_file.h"
#include "proc/binary.h"
#include "proc/maps.h"
#include "proc/peek.h"
#include "proc/thread_labels.h"
#include "test.h"
#include "tracer/modules.h"
#include "tracer/tables.h"

#define LIBRARY_VA 0x10000
#define SECOND_NS 1000000000ull

/* This process, with a library that has variables of threads; what the dynamic linker writes for it is in `slot`. */
struct machine {
	struct tables *tables;
	struct modules *modules;
	struct peek *peek;
	struct thread_labels *labels;
	struct requests requests;
	struct process process;
	struct binary library;
	u64 slot[2];
};

static void machine_init(struct machine *m, const struct thread_label_spec *spec, const struct tls_variable *variable)
{
	struct lang_file *file = calloc(1, sizeof(*file));
	struct buf why;

	buf_init(&why, 1024);
	*m = (struct machine){
		.process = { .serial = 1, .pid = (u32)getpid(), .maps = maps_new() },
		.library = { .refs = 100, .id = 7, .fd = -1, .root_fd = -1, .path = (char *)"/opt/libapp.so",
			     .info = { .segment_count = 1, .segment = { { 0, LIBRARY_VA, 0x1000 } } } },
	};
	maps_add(m->process.maps, &(struct mapping){ .start_va = LIBRARY_VA, .end_va = LIBRARY_VA + 0x1000,
						     .kind = MAPPING_FILE, .path = (char *)"/opt/libapp.so",
						     .looked_for = true, .binary = &m->library });
	EQ(tables_new(NULL, sizeof(struct rows_chunk), &m->tables), 0);
	EQ(peek_new(SECOND_NS, &m->peek), 0);
	EQ(thread_labels_new(&(struct thread_label_specs){ spec, 1 }, &m->labels, &why), 0);
	EQ(modules_new(m->tables, NULL, m->peek, NULL, &m->labels->variables, &m->modules), 0);
	file->labels[0] = *variable;
	file->labels[0].slot_ea = (u64)(uintptr_t)m->slot;
	EQ(modules_set_file(m->modules, m->library.id, file), 0);
	m->requests = (struct requests){ .tables = m->tables, .modules = m->modules, .peek = m->peek,
					 .labels = m->labels };
	buf_done(&why);
}

static void machine_done(struct machine *m)
{
	requests_forget(&m->requests, &m->process, 100 * SECOND_NS);
	modules_free(m->modules);
	thread_labels_free(m->labels);
	peek_free(m->peek);
	tables_free(m->tables);
	maps_free(m->process.maps);
}

static struct lang_file *library_file(struct machine *m)
{
	return (struct lang_file *)modules_file(m->modules, &m->library);
}

static const struct thread_places *places(const struct machine *m)
{
	return (const void *)tables_slot(m->tables, requests_slot(&m->process))->word;
}

static const struct thread_label_spec tenant = { "tenant", "current_tenant", "libapp", THREAD_LABEL_STRING };

TEST(requests_tell_the_kernel_half_where_a_variable_is_that_is_wanted_as_a_label)
{
	struct machine m;

	machine_init(&m, &tenant, &(struct tls_variable){ TLS_PROGRAM, (u64)-64, 0, 16 });
	requests_mapped(&m.requests, &m.process, 5);
	EQ(m.process.requests_look_ns, 5);
	OK(!requests_look(&m.requests, &m.process, (u32)gettid(), 4));
	OK(requests_look(&m.requests, &m.process, (u32)gettid(), 6));
	OK(requests_slot(&m.process));
	EQ(places(&m)->labels, 1);
	EQ(places(&m)->has_request, 0);
	EQ(places(&m)->label[0].type, THREAD_LABEL_STRING);
	EQ(places(&m)->label[0].bytes, 17);
	EQ(places(&m)->label[0].variable.offset, (u64)-64);
	EQ(m.requests.labelled, 1);
	/* It stays there: nobody looks again until something is mapped, and then not at once. */
	EQ(m.process.requests_look_ns, 0);
	requests_mapped(&m.requests, &m.process, 7);
	OK(m.process.requests_look_ns > 7 && m.process.requests_look_ns <= SECOND_NS);
	OK(!requests_look(&m.requests, &m.process, (u32)gettid(), SECOND_NS));
	EQ(m.requests.labelled, 1);
	machine_done(&m);
}

TEST(requests_wait_for_the_dynamic_linker)
{
	struct machine m;

	machine_init(&m, &tenant, &(struct tls_variable){ TLS_MODULE, 0x40, 0, 16 });
	requests_mapped(&m.requests, &m.process, 1);
	OK(!requests_look(&m.requests, &m.process, (u32)gettid(), 1));
	EQ(requests_slot(&m.process), 0);
	OK(m.process.requests_look_ns > 1);
	m.slot[0] = 3;
	OK(requests_look(&m.requests, &m.process, (u32)gettid(), SECOND_NS));
	EQ(places(&m)->label[0].variable.module, 3);
	EQ(places(&m)->label[0].variable.offset, 0x40);
	EQ(m.requests.labels_refused, 0);
	/* Another library is in its place by now, of which nobody can tell where it is. */
	m.slot[0] = 1ull << 40;
	requests_mapped(&m.requests, &m.process, 2 * SECOND_NS);
	OK(requests_look(&m.requests, &m.process, (u32)gettid(), 2 * SECOND_NS));
	EQ(requests_slot(&m.process), 0);
	EQ(m.requests.labels_refused, 1);
	machine_done(&m);
}

TEST(requests_leave_out_variables_that_are_not_meant_or_too_small)
{
	const struct thread_label_spec other = { "tenant", "current_tenant", "libother", THREAD_LABEL_STRING },
				       number = { "tenant", "current_tenant", NULL, THREAD_LABEL_U64 };
	const struct tls_variable variable = { TLS_PROGRAM, (u64)-64, 0, 4 };
	struct machine m;

	machine_init(&m, &other, &variable);
	requests_mapped(&m.requests, &m.process, 1);
	EQ(m.process.requests_look_ns, 0);
	machine_done(&m);
	machine_init(&m, &number, &variable);
	requests_mapped(&m.requests, &m.process, 1);
	OK(!requests_look(&m.requests, &m.process, (u32)gettid(), 1));
	EQ(requests_slot(&m.process), 0);
	EQ(m.process.requests_look_ns, 0);
	EQ(m.requests.labels_refused, 1);
	machine_done(&m);
}

TEST(requests_take_the_variable_of_an_apm_agent_where_it_is)
{
	struct machine m;

	machine_init(&m, &tenant, &(struct tls_variable){ TLS_NONE, 0, 0, 0 });
	library_file(&m)->requests[REQUEST_APM] = (struct tls_variable){ TLS_MODULE, 0x10, (u64)(uintptr_t)m.slot, 8 };
	library_file(&m)->apm_storage_ea = 0x760;
	m.slot[0] = 4;
	requests_mapped(&m.requests, &m.process, 1);
	EQ(m.process.apm_variable_va, 0x760);
	EQ(m.process.description.look_ns, 1 + SECOND_NS);
	OK(requests_look(&m.requests, &m.process, (u32)gettid(), 1));
	EQ(places(&m)->has_request, 1);
	EQ(places(&m)->request_layout, REQUEST_APM);
	EQ(places(&m)->request.module, 4);
	EQ(m.requests.attached, 1);
	/* It stays there, and nobody waits for a context that no variable is there for. */
	EQ(m.process.requests_look_ns, 0);
	/* Until the library is gone. */
	library_file(&m)->requests[REQUEST_APM].access = TLS_NONE;
	library_file(&m)->apm_storage_ea = 0;
	requests_mapped(&m.requests, &m.process, 2 * SECOND_NS);
	OK(requests_look(&m.requests, &m.process, (u32)gettid(), 2 * SECOND_NS));
	EQ(requests_slot(&m.process), 0);
	EQ(m.process.apm_variable_va, 0);
	EQ(m.requests.refused, 0);
	machine_done(&m);
}

TEST(requests_wait_for_a_context_while_an_apm_agent_says_what_there_is)
{
	struct machine m;

	machine_init(&m, &tenant, &(struct tls_variable){ TLS_NONE, 0, 0, 0 });
	library_file(&m)->requests[REQUEST_OTEL] = (struct tls_variable){ TLS_PROGRAM, (u64)-8, 0, 8 };
	library_file(&m)->requests[REQUEST_APM] = (struct tls_variable){ TLS_PROGRAM, (u64)-16, 0, 8 };
	requests_mapped(&m.requests, &m.process, 1);
	OK(requests_look(&m.requests, &m.process, (u32)gettid(), 1));
	EQ(places(&m)->request_layout, REQUEST_APM);
	EQ(places(&m)->request.offset, (u64)-16);
	OK(m.process.requests_look_ns > 1);
	machine_done(&m);
}

TEST(requests_that_nobody_wants_are_not_looked_for)
{
	struct machine m;

	machine_init(&m, &tenant, &(struct tls_variable){ TLS_NONE, 0, 0, 0 });
	library_file(&m)->requests[REQUEST_APM] = (struct tls_variable){ TLS_PROGRAM, (u64)-16, 0, 8 };
	library_file(&m)->apm_storage_ea = 0x760;
	m.requests.is_off = true;
	requests_mapped(&m.requests, &m.process, 1);
	EQ(m.process.requests_look_ns, 0);
	EQ(m.process.apm_variable_va, 0x760);	/* what the process is called is another thing */
	machine_done(&m);
}
