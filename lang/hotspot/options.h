/* SPDX-License-Identifier: Apache-2.0 */
/* No include guard: lang/options.h includes it once. */
#define HOTSPOT_OPTIONS(X) \
	X(java_signatures, "java-signatures", false, "name Java methods with the types of their parameters")
