# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2154
# For get.sh of peers that are a Go module beside it ($here): `. ../go_peer.sh`, then build_peer.
cache=${WICK_TEST_CACHE:-$HOME/.cache/wick-test}

say() {
	echo "$1" >&2
	exit 1
}

# build_peer TITLE FOLDER FILE SECONDS ARGUMENTS...: by `go build ARGUMENTS`, once, into FOLDER/FILE of the cache; prints that
# path. Gives up after so many seconds, with status 1 and the reason on stderr.
build_peer() {
	title=$1 into=$cache/$2 file=$3 limit=$4
	shift 4
	mkdir -p "$into"
	exec 9>"$into/lock"
	flock -w "$limit" 9 || say "somebody else builds $title for more than $limit s"
	if [ ! -x "$into/$file" ]; then
		command -v go >/dev/null || say "no Go to build $title with"
		cp "$here"/go.mod "$into/"
		! ls "$here"/*.go >/dev/null 2>&1 || cp "$here"/*.go "$into/"
		(cd "$into" && CGO_ENABLED=0 GOFLAGS='-mod=mod -buildvcs=false' timeout "$limit" nice go build -p 1 \
			-o "$file.new" "$@") >&2 || say "$title could not be built within $limit s"
		mv "$into/$file.new" "$into/$file"
	fi
	echo "$into/$file"
}
