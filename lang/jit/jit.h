/* SPDX-License-Identifier: Apache-2.0 */
/* What the half that looks at files tells the half that looks at processes, in struct lang_file. */
#ifndef LANG_JIT_JIT_H
#define LANG_JIT_JIT_H

enum jit_fact { JIT_FACT_DESCRIPTOR_EA };

extern const struct lang_file_ops jit_file_ops;

#endif
