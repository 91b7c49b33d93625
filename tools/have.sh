#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# have.sh CC CLANG BPFTOOL STRIP STAMP: are the compilers and libraries there that a build needs? Says which are not, and
# what installs them. The stamp keeps a build from asking again.
set -u
cc=$1 clang=$2 bpftool=$3 strip=$4 stamp=$5
headers='bpf/libbpf.h gelf.h elfutils/libdw.h lzma.h libiberty/demangle.h zlib.h zstd.h xxhash.h curl/curl.h openssl/ssl.h
nghttp2/nghttp2.h yaml.h sqlite3.h pcre2.h'

missing=
for tool in "$cc" "$clang" "$bpftool" "$strip"; do
	command -v "${tool%% *}" >/dev/null || missing="$missing ${tool%% *}"
done
if command -v "${cc%% *}" >/dev/null; then
	for header in $headers; do
		echo "#include <$header>" | $cc -DPCRE2_CODE_UNIT_WIDTH=8 -x c -E -o /dev/null - 2>/dev/null || missing="$missing $header"
	done
fi
if [ -n "$missing" ]; then
	echo "wick cannot be built here, these are missing:$missing" >&2
	echo "\`make deps\` installs them (Debian, as root); tools/deps.sh has the names of the packages." >&2
	exit 1
fi
mkdir -p "$(dirname "$stamp")"
: >"$stamp"
