/* SPDX-License-Identifier: Apache-2.0 */
/* Every connector. No include guard: it is included with CONNECTOR() defined. */
CONNECTOR(forward)
