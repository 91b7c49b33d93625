#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names of a stripped program from a real debuginfod on loopback; then from servers that lie. Prints TAP.
. "$(dirname "$0")/lib.sh"
symbolize=$BUILD/test/tools/symbolize
for tool in debuginfod g++ objcopy python3 curl; do
	if ! command -v $tool >/dev/null; then
		skip "debuginfod" "$tool is not installed"
		finish
	fi
done
make -C "$ROOT" O="$BUILD" "$symbolize" >/dev/null || { echo 'not ok - build'; exit 1; }
servers=
trap 'kill $servers 2>/dev/null; rm -rf "$WORK"' EXIT

cat >"$WORK/app.cc" <<'END'
#include <cstdio>
namespace app {
static inline __attribute__((always_inline)) long inner(long x) { asm volatile("nop" : "+r"(x)); return x * 3; }
__attribute__((noinline)) static long outer(long x) { return inner(x) + NUMBER; }
}
int main(int argc, char **) { std::printf("%ld\n", app::outer(argc)); }
END
# split NAME FLAGS: a stripped NAME whose debug file is served, and an address in app::outer.
split() {
	g++ -O1 -g -Wl,--build-id "$2" "$WORK/app.cc" -o "$WORK/full" || exit 1
	address=$(nm "$WORK/full" | sed -n 's/^0*\([0-9a-f]*\) t _ZN3appL5outerEl$/\1/p')
	build_id=$(readelf -n "$WORK/full" | sed -n 's/.*Build ID: //p')
	mkdir -p "$WORK/served"
	objcopy --only-keep-debug "$WORK/full" "$WORK/served/$1.debug"
	strip -o "$WORK/$1" "$WORK/full"
	rm "$WORK/full"
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# ask NAME ARGS: what the symbolizer calls the address; counters go to $WORK/counters.
ask() {
	name=$1
	shift
	echo "$WORK/$name $address" | "$symbolize" "$@" 2>"$WORK/counters" | tee "$WORK/answer"
}

split app -DNUMBER=1
port=$(free_port)
env -u DEBUGINFOD_URLS debuginfod -F "$WORK/served" -p "$port" -d :memory: -t 0 >"$WORK/server.log" 2>&1 &
servers=$!
url=http://127.0.0.1:$port
for _ in $(seq 100); do
	curl -sf -o /dev/null "$url/buildid/$build_id/debuginfo" && break
	sleep 0.1
done

ask app >/dev/null
check 'a stripped program has no names without asking' grep -q "	fde	app	app+0x$address	" "$WORK/answer"
ask app --debuginfod "file:///nowhere http://127.0.0.1:1 $url/" "$WORK/cache" >/dev/null
check 'debuginfod gives the function' grep -q '	app::outer	_ZN3appL5outerEl	' "$WORK/answer"
check '... and its file' grep -q "	$WORK/app.cc	" "$WORK/answer"
check '... which is counted' grep -q 'hits 1 misses 0' "$WORK/counters"
nop=$(objdump -d --start-address="0x$address" --stop-address="0x$(printf %x $((0x$address + 64)))" "$WORK/app" |
	sed -n 's/^ *\([0-9a-f]*\):.*\tnop *$/\1/p' | head -n 1)
function_start=$address
address=$nop
ask app --debuginfod "$url" "$WORK/cache" >/dev/null
check '... and what was inlined' grep -q "	$function_start	dwarf	app	inner	.*	app::outer	" "$WORK/answer"

kill "$servers"
wait "$servers" 2>/dev/null
servers=
ask app --debuginfod "$url" "$WORK/cache" >/dev/null
check 'the file is kept: no server is needed again' grep -q '	app::outer	' "$WORK/answer"
check 'only its owner may look' test "$(stat -c %a "$WORK/cache/debuginfod")" = 700

# A server that lies: its answer depends on the path that it is asked for.
split other -DNUMBER=2
cat >"$WORK/liar.py" <<'END'
import http.server, sys
class Liar(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind = self.path.split('/')[1]
        print(kind, flush=True)
        if kind == 'absent':
            self.send_error(404)
        elif kind == 'file':
            self.send_response(302)
            self.send_header('Location', 'file://' + sys.argv[2])
            self.end_headers()
        elif kind == 'loop':
            self.send_response(302)
            self.send_header('Location', self.path)
            self.end_headers()
        elif kind == 'huge':
            self.send_response(200)
            self.send_header('Content-Length', str(1 << 40))
            self.end_headers()
        else:
            body = {'wrong': open(sys.argv[2], 'rb').read(), 'garbage': b'\x7fELF' + bytes(range(256)) * 99, 'cut': b'x'}[kind]
            self.send_response(200)
            self.send_header('Content-Length', str(len(body) + (kind == 'cut')))
            self.end_headers()
            self.wfile.write(body)
    def log_message(self, *args): pass
http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), Liar).serve_forever()
END
port=$(free_port)
python3 "$WORK/liar.py" "$port" "$WORK/served/app.debug" >"$WORK/liar.log" 2>&1 &
servers=$!
for _ in $(seq 100); do
	curl -s -o /dev/null "http://127.0.0.1:$port/absent/" && break
	sleep 0.1
done
for kind in absent file loop huge garbage wrong cut; do
	: >"$WORK/liar.log"
	ask other --debuginfod "http://127.0.0.1:$port/$kind" "$WORK/cache-$kind" >/dev/null
	check "a server that answers with '$kind' costs the name only" grep -q "	fde	other	other+0x$address	" "$WORK/answer"
	check "... and was asked" grep -q "^$kind" "$WORK/liar.log"
	check "... and leaves no half file" test -z "$(find "$WORK/cache-$kind" -name '*.part-*')"
done
: >"$WORK/liar.log"
ask other --debuginfod "http://127.0.0.1:$port/absent" "$WORK/cache-absent" >/dev/null
check 'what is absent is not asked for again' test ! -s "$WORK/liar.log"
check '... but counted' grep -q 'hits 0 misses 1' "$WORK/counters"
finish
