/* SPDX-License-Identifier: Apache-2.0 */
/* Every exporter. No include guard: it is included with EXPORTER() defined. */
EXPORTER(clickhouse)
EXPORTER(customprofilesexporter)
EXPORTER(datadog)
EXPORTER(debug)
EXPORTER(file)
EXPORTER(nop)
EXPORTER(otlp_grpc)
EXPORTER(otlp_http)
EXPORTER(perfdata)
EXPORTER(pyroscope)
EXPORTER(store)
