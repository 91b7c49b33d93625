/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Serves metrics to Prometheus as service.telemetry.metrics says: a component
 * that is always there, whose options are a struct telemetry_options. Like the Collector, wick does not start when
 * the port is taken.
 */
#ifndef EXTENSIONS_TELEMETRY_H
#define EXTENSIONS_TELEMETRY_H

struct component_ops;

extern const struct component_ops telemetry_component;

#endif
