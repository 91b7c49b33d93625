/* SPDX-License-Identifier: Apache-2.0 */
/* No include guard: lang/options.h includes it once. */
#define BEAM_OPTIONS(X) \
	X(erlang_pids, "erlang-pids", false, "label samples with the Erlang process that ran: erlang.pid")
