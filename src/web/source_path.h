/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Paths of source files as debug information has them, and where such a file may be here. Whoever sends profiles
 * chooses them. Only texts: nothing is opened.
 */
#ifndef WEB_SOURCE_PATH_H
#define WEB_SOURCE_PATH_H

#include <stdbool.h>

#include "base/str.h"
#include "config/fields.h"

#define SOURCE_PATH_BYTES 1024
#define SOURCE_PARTS_MAX 64

/*
 * Without "." and "..", which take the part before them away, if there is one, and without needless slashes. False: it
 * holds a NUL, has no parts, or too long or too many ones.
 */
bool source_path_clean(struct str path, char ret_path[SOURCE_PATH_BYTES]);

/* By its ending. */
bool source_path_is_source(const char *path);

/* Puts what the longest of the keys stands for in its place, if one is the beginning of it. False: too long then. */
bool source_path_map(char path[SOURCE_PATH_BYTES], const struct config_pairs *map);

/* What follows a directory, by their texts; NULL: it is not below that. */
const char *source_path_below(const char *path, const char *directory);

/* Without the slash that it begins with, or else without its first part; NULL: it has only one. */
const char *source_path_shorter(const char *path);

#endif
