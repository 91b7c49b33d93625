/* SPDX-License-Identifier: Apache-2.0 */
/* No include guard: lang/options.h includes it once. */
#define V8_OPTIONS(X) \
	X(source_maps, "source-maps", true, "show what scripts were made of, where their source maps tell")
