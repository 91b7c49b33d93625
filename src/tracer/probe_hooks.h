/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hooks of a probe (kinds/probe.h) on this machine: what it names is looked for, its BPF object is told where
 * values are, and its programs are attached. What is missing is told in a sentence, with the nearest name there is.
 *
 * A file is opened once and stays open: what was looked at is what the probe is set in, whatever becomes of its name.
 *
 * The tracer's thread owns it.
 */
#ifndef TRACER_PROBE_HOOKS_H
#define TRACER_PROBE_HOOKS_H

#include "base/cleanup.h"
#include "kinds/probe.h"

struct bpf_object;
struct buf;
struct probe_hooks;
struct reader;

/* Finds all that the probe names; the probe must outlive it. -errno with a sentence in `why`. */
int probe_hooks_new(const struct probe *probe, struct reader *reader, struct probe_hooks **ret_hooks, struct buf *why);
void probe_hooks_free(struct probe_hooks *hooks);
DEFINE_CLEANUP(struct probe_hooks *, probe_hooks_free)

/* Before the object is loaded: its constants and the types of its programs. */
int probe_hooks_prepare(const struct probe_hooks *hooks, struct bpf_object *object);

/* -errno with a sentence in `why`. */
int probe_hooks_attach(struct probe_hooks *hooks, struct bpf_object *object, struct buf *why);
void probe_hooks_detach(struct probe_hooks *hooks);

#endif
