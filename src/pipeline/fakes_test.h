/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of graphs: components that write down what happens to them, in
 * one string of words: "create fake/a" or "start", "stop", "free", "consume".
 */
#ifndef PIPELINE_FAKES_TEST_H
#define PIPELINE_FAKES_TEST_H

#include "config/config.h"
#include "pipeline/registry.h"

struct batch;

/* Receivers, processors, exporters, connectors and extensions, all of type fake; of other types are
 * the extension storage, the exporter alone, and the processors reader and passer, by what they look at. */
extern const struct component_registry fakes;

/* What happened since the last call. */
const char *fakes_log(void);

/* Makes the receiver with this id send; its result. */
int fakes_send(const char *receiver, struct batch *batch);

/* The configuration of a text; config_errors are filled, NULL is returned if it is none. */
struct config *fakes_config(const char *yaml, struct config_errors *errors);

#endif
