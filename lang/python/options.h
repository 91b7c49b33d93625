/* SPDX-License-Identifier: Apache-2.0 */
/* No include guard: lang/options.h includes it once. */
#define PYTHON_OPTIONS(X)                                                                                      \
	X(python_await_chain, "python-await-chain", false,                                                     \
	  "show the asyncio tasks that await the running one (Python 3.14 and later)")
