/* SPDX-License-Identifier: Apache-2.0 */
/* Every receiver. No include guard: it is included with RECEIVER() defined. */
RECEIVER(customprofilesreceiver)
RECEIVER(nop)
RECEIVER(otlp)
RECEIVER(otlp_json_file)
RECEIVER(pprof)
RECEIVER(profiling)
