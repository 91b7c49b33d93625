/* SPDX-License-Identifier: Apache-2.0 */
/* The half of Go that looks at files. */
#ifndef LANG_GO_GO_FILE_H
#define LANG_GO_GO_FILE_H

#include "exe/lang_file.h"

extern const struct lang_file_ops go_file_ops;

#endif
