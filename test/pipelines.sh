#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# wick --config as a service: starting, reloading, stopping, and what goes wrong with each. No privilege needed.
. "$(dirname "$0")/lib.sh"
cd "$WORK" || exit 1
PAYLOAD=$ROOT/test/golden/otlp/ebpf-profiler-c.bin
pids=
trap 'for pid in $pids; do kill -KILL "$pid" 2>/dev/null; done; rm -rf "$WORK"' EXIT

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
PORT=$(free_port)

# config FILE EXPORTER [PROCESSORS]: a relay from OTLP to it.
config() {
	cat >"$1" <<-EOF
	receivers: {otlp: {protocols: {http: {endpoint: "127.0.0.1:$PORT"}}}}
	processors: {batch: {timeout: 1h, send_batch_size: 1000000000}}
	exporters: {file/a: {path: $WORK/a.json}, file/b: {path: $WORK/b.json}, nop: }
	service:
	  telemetry: {metrics: {level: none}, logs: {sampling: {enabled: false}}}
	  pipelines: {profiles: {receivers: [otlp], processors: [${3:-}], exporters: [$2]}}
	EOF
}

# run ARGUMENTS...: starts wick in the background as $pid, and waits until it is ready.
run() {
	: >log		# here: in the background it might still be the last one's when it is looked at
	"$WICK" "$@" 2>log &
	pid=$!
	pids="$pids $pid"
	logged 'Everything is ready'
}

# logged TEXT [COUNT]: waits until the log has it so often.
logged() {
	logged_tries=0
	until [ "$(grep -c "$1" log)" -ge "${2:-1}" ]; do
		logged_tries=$((logged_tries + 1))
		if [ $logged_tries -gt 200 ] || ! kill -0 "$pid" 2>/dev/null; then
			cat log
			return 1
		fi
		sleep 0.05
	done
}

# stop SIGNAL STATUS: ends it so, and has that exit status.
stop() {
	kill "-$1" "$pid"
	wait "$pid"
	stop_status=$?
	[ $stop_status = "$2" ] || { echo "exit status $stop_status"; cat log; return 1; }
}

post() {
	curl -s -o answer -w '%{http_code}\n' --max-time 20 --data-binary "@$PAYLOAD" \
		-H 'Content-Type: application/x-protobuf' "http://127.0.0.1:$PORT/v1development/profiles"
}

# has FILE COUNT: so many requests arrived in it, each with all of its stacks.
has() {
	python3 - "$1" "$2" <<-'EOF'
	import json, sys
	requests = [json.loads(line) for line in open(sys.argv[1])]
	samples = sum(len(p.get("samples", [])) for r in requests for o in r["resourceProfiles"]
	              for s in o["scopeProfiles"] for p in s["profiles"])
	print(len(requests), "requests,", samples, "samples")
	sys.exit(samples != 608 * int(sys.argv[2]))
	EOF
}

# fails TEXT ARGUMENTS...: exits with status 1 and says so on standard error.
fails() {
	fails_text=$1
	shift
	"$WICK" "$@" >out 2>&1
	fails_status=$?
	cat out
	[ $fails_status = 1 ] && grep -qF "$fails_text" out
}

# ---- Starting and stopping ----------------------------------------------------------

config a.yaml file/a
check 'it starts' run --config=a.yaml
check 'it takes a request' test "$(post)" = 200
check 'SIGTERM ends it with status 0' stop TERM 0
check 'what it took was written' has a.json 1

check 'run is the same as no word' run run --config=file:a.yaml --feature-gates=service.profilesSupport
check 'SIGINT ends it with status 0' stop INT 0

check 'a value can be set' run --config=a.yaml --set=service.telemetry.logs.encoding=json
check 'and has its effect' grep -q '^{"level":"info",.*"msg":"Everything is ready' log
check 'it ends' stop TERM 0

config batch.yaml file/a batch
check 'it starts with a processor that holds back' run --config=batch.yaml
post >/dev/null
post >/dev/null
check 'nothing is written yet' test ! -s a.json
check 'SIGTERM sends what is held' stop TERM 0
check 'all of it was written' has a.json 2

# ---- Bad configurations -------------------------------------------------------------

check 'no such file' fails 'cannot read none.yaml: No such file' --config=none.yaml
check 'not YAML' fails 'yaml::2:1: not valid YAML' --config='yaml:{receivers: ['
check 'nothing in it' fails 'empty configuration file' --config=yaml:
check 'unknown type' fails 'there is no exporter of type fiel; did you mean file?' --config=a.yaml \
	--set=exporters.fiel.path=x
check 'unknown key' fails 'receivers::otlp::protocols::http: unknown key endpiont; did you mean endpoint?' \
	--config=a.yaml --set=receivers.otlp.protocols.http.endpiont=x
check 'not configured' fails 'references exporter "debug/x" which is not configured' --config=a.yaml \
	--set='service.pipelines.profiles.exporters=[debug/x]'
check 'another signal' fails 'wick carries profiles only' --config=a.yaml \
	--set='service.pipelines.traces.receivers=[otlp]'
check 'an option that is none' fails 'there is no option --cofig; did you mean --config?' --cofig=a.yaml
check 'a file that cannot be written' fails 'exporters::file/a:' --config=a.yaml --set=exporters.file/a.path=/none/x

config nop.yaml nop
check 'it starts' run --config=nop.yaml
check 'a port that is in use' fails "the address is in use: process $pid (wick) has it" --config=nop.yaml
check 'it ends' stop TERM 0

# ---- Reloading ----------------------------------------------------------------------

config a.yaml file/a
cp a.yaml now.yaml
check 'it starts' run --config=now.yaml
post >/dev/null
config now.yaml file/b
kill -HUP $pid
check 'SIGHUP loads the configuration again' logged 'runs with the configuration as it is now'
check 'the new one takes requests' test "$(post)" = 200
echo 'receivers: {otlp: {protocls: }}' >now.yaml
kill -HUP $pid
check 'a bad one is not taken' logged 'the old one goes on running'
check 'and the log says why' grep -q 'now.yaml:1:20: receivers::otlp: unknown key protocls; did you mean protocols?' log
check 'the old one takes requests' test "$(post)" = 200
config now.yaml file/b
sed -i "s|$WORK/b.json|/none/b.json|" now.yaml
kill -HUP $pid
check 'one that cannot start is not taken' logged 'the new configuration cannot start, the old one is started again'
check 'the old one takes requests again' test "$(post)" = 200
check 'it ends' stop TERM 0
check 'what came before was written by the old one' has a.json 1

# A sender that never stops sees no connection refused, only now and then a 503, and nothing it had a 200 for is missing.
config now.yaml file/b
sed -i "s|path: $WORK/b.json|path: $WORK/b.json, append: true|" now.yaml
rm -f b.json
check 'it starts' run --config=now.yaml
(
	i=0
	while [ ! -e enough ] && [ $i -lt 3000 ]; do
		post
		i=$((i + 1))
	done >codes
) &
sender=$!
reloads=0
while kill -0 $sender 2>/dev/null && [ $reloads -lt 6 ]; do
	reloads=$((reloads + 1))
	kill -HUP $pid
	logged 'runs with the configuration as it is now' $reloads || break
done
touch enough
wait $sender
check 'it was reloaded while requests came' test $reloads -ge 5
check 'each was answered with 200 or 503' sh -c '! grep -vx "200\|503" codes'
check 'it ends' stop TERM 0
check 'all that were accepted were written' has b.json "$(grep -c '^200$' codes)"

finish
