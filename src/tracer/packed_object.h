/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF objects of kinds and languages are linked in compressed by gzip (tools/pack.sh): they are much alike, most runs
 * load three of a dozen, and all of them would be a tenth of the program.
 */
#ifndef TRACER_PACKED_OBJECT_H
#define TRACER_PACKED_OBJECT_H

#include <stddef.h>

/* The ELF file, which the caller frees once libbpf has loaded it. */
int packed_object_unpack(const void *packed, size_t bytes, void **ret_elf, size_t *ret_bytes);

#endif
