#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pack.sh FUNCTION FILE: prints a header with a function that gives FILE's bytes, compressed by gzip.
set -eu
printf '#include <stddef.h>\n\nstatic inline const void *%s(size_t *ret_bytes)\n{\n\tstatic const unsigned char packed[] = {\n' "$1"
gzip -9nc "$2" | od -An -v -tu1 -w32 | sed 's/ *\([0-9][0-9]*\)/\1,/g'
printf '\t};\n\n\t*ret_bytes = sizeof(packed);\n\treturn packed;\n}\n'
