/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The labels of a goroutine, read from the live process. They are sample attributes, named LANG_LABEL_PREFIX and key.
 */
#ifndef LANG_GO_LABELS_H
#define LANG_GO_LABELS_H

#include "base/types.h"

struct lang_names;
struct lang_process;

/*
 * kind is an enum go_labels, signature what the kernel half has made of the labels (go.h). -ESTALE if there is
 * something else by now.
 */
int go_labels_read(const struct lang_process *process, u64 kind, u64 labels_va, u64 signature,
		   struct lang_names *names);

#endif
