#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is shipped is the same bytes wherever it is built: from the files that git knows, in two folders, libraries and all.
. "$(dirname "$0")/../lib.sh"

built() {
	folder=$WORK/$1
	mkdir -p "$folder"
	(cd "$ROOT" && git ls-files -z | xargs -0 cp -p --parents -t "$folder")
	time=$(git -C "$ROOT" log -1 --format=%ct)
	(cd "$folder" && umask "$2" && SOURCE_DATE_EPOCH=$time make O=build LIBRARIES="$folder/libraries" tarball image)
}

equal() {
	cd "$WORK/one" && for file in build/dist/wick build/dist/wick.spdx.json build/dist/wick.licences.txt build/wick-*-linux-*.tar.gz build/wick-*-oci.tar; do
		cmp "$file" "$WORK/another-folder/below/$file" || return 1
	done
}

check 'it builds in a folder' built one 022
check 'it builds in another' built another-folder/below 077
check 'both are the same bytes' equal
finish
