/* SPDX-License-Identifier: Apache-2.0 */
/* Every extension. No include guard: it is included with EXTENSION() defined. */
EXTENSION(basicauth)
EXTENSION(bearertokenauth)
EXTENSION(file_storage)
EXTENSION(health_check)
EXTENSION(pprof)
EXTENSION(zpages)
