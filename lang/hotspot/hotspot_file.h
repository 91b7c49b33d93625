/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises a JVM. The facts of its file are the addresses of what VM_SYMBOLS lists. */
#ifndef LANG_HOTSPOT_HOTSPOT_FILE_H
#define LANG_HOTSPOT_HOTSPOT_FILE_H

#include "exe/lang_file.h"

extern const struct lang_file_ops hotspot_file_ops;

#endif
