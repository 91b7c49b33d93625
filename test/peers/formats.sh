#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Our files in the hands of those who defined the formats: google/pprof reads our pprof, PyPI's opentelemetry-proto our
# OTLP. The inputs are requests of the OpenTelemetry eBPF profiler.
. "$(dirname "$0")/../lib.sh"
cd "$ROOT" || exit 1

# pprof is part of Go; without Go there is none.
have_pprof() {
	command -v go >/dev/null && go tool pprof -h 2>&1 | grep -q -e '-raw'
}

# raw FILE: pprof's own listing, without a look at local binaries.
raw() {
	go tool pprof -symbolize=none -raw "$1" 2>"$WORK/pprof.err"
}

# totals FILE: the sums of both values of all samples, as pprof read them.
totals() {
	raw "$1" | awk '/^Locations/ { exit } / *[0-9]+ +[0-9]+: / { samples += $1; sub(":", "", $2); time += $2 }
		END { printf "%d %.0f\n", samples, time }'
}

# otlp_totals FILE: the same from OTLP, as opentelemetry-proto read it.
otlp_totals() {
	"$PYTHON" test/peers/formats.py totals "$1"
}

same_totals() {
	[ "$(totals "$WORK/$1.pb.gz")" = "$(otlp_totals "$2")" ] && [ "$(totals "$WORK/$1.pb.gz")" != "0 0" ]
}

# rewritten NAME: what pprof writes after reading ours says the same to us.
rewritten() {
	go tool pprof -symbolize=none -proto -output="$WORK/$1.again.pb.gz" "$WORK/$1.pb.gz" >/dev/null 2>&1 &&
		"$WICK" convert "$WORK/$1.pb.gz" "$WORK/$1.folded" &&
		"$WICK" convert "$WORK/$1.again.pb.gz" "$WORK/$1.again.folded" &&
		sort "$WORK/$1.folded" >"$WORK/a" && sort "$WORK/$1.again.folded" >"$WORK/b" && [ -s "$WORK/a" ] &&
		cmp "$WORK/a" "$WORK/b"
}

pprof=$(have_pprof && echo yes)
PYTHON=$(test/peers/venv.sh 2>/dev/null) && otlp=yes || otlp=
for file in test/golden/otlp/*.bin; do
	name=$(basename "$file" .bin)
	check "$name becomes pprof" "$WICK" convert "$file" "$WORK/$name.pb.gz"
	check "$name becomes OTLP" "$WICK" convert "$file" "$WORK/$name.otlp"
	check "$name becomes JSON" "$WICK" convert "$file" "$WORK/$name.json"
	if [ "$pprof" ]; then
		check "pprof lists $name" raw "$WORK/$name.pb.gz"
		check "pprof sums $name up" go tool pprof -symbolize=none -top "$WORK/$name.pb.gz"
		check "pprof rewrites $name" rewritten "$name"
	else
		skip "pprof reads $name" no Go
	fi
	if [ "$otlp" ]; then
		check "opentelemetry-proto finds $name unchanged" \
			"$PYTHON" test/peers/formats.py same "$file" "$WORK/$name.otlp"
		check "opentelemetry-proto finds $name unchanged in JSON" \
			"$PYTHON" test/peers/formats.py same "$file" "$WORK/$name.json"
	else
		skip "opentelemetry-proto reads $name" opentelemetry-proto cannot be installed from PyPI
	fi
	if [ "$pprof" ] && [ "$otlp" ]; then
		check "pprof and opentelemetry-proto count alike in $name" same_totals "$name" "$WORK/$name.otlp"
	fi
done
finish
