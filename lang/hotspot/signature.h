/* SPDX-License-Identifier: Apache-2.0 */
/* The types of a method's parameters, as Java writes them: "(ILjava/lang/String;)V" is (int, java.lang.String). */
#ifndef LANG_HOTSPOT_SIGNATURE_H
#define LANG_HOTSPOT_SIGNATURE_H

#include <stddef.h>

/* Writes them behind a name, cut to fit. What is no descriptor adds nothing. */
void signature_add(const char *descriptor, char *name, size_t name_bytes);

#endif
