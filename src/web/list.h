/* SPDX-License-Identifier: Apache-2.0 */
/* The extensions that are made of pages. No include guard: it is included with EXTENSION() defined. */
EXTENSION(page)
