/* SPDX-License-Identifier: Apache-2.0 */
/* Every processor. No include guard: it is included with PROCESSOR() defined. */
PROCESSOR(memory_limiter)
PROCESSOR(batch)
