/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the frames of a suspended virtual thread are: in StackChunks, Java objects whose fields lie where the JVM has
 * put them in this run. They are found as it finds them itself: by the descriptions of its classes.
 */
#ifndef LANG_HOTSPOT_CHUNKS_H
#define LANG_HOTSPOT_CHUNKS_H

struct hotspot_chunks;
struct memory;
struct vm;

/* 0, with HOTSPOT_OOP_UNKNOWN if the JVM has none or they cannot be found; -EAGAIN while it starts. */
int chunks_read(const struct vm *vm, struct memory *memory, struct hotspot_chunks *ret_chunks);

#endif
