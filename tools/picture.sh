#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# picture.sh WICK: draws docs/page.png, the picture of the page in README.md, anew: some programs in namespaces of their own, so that nothing else of
# this machine is on it, wick beside them, and Chromium. As root; the tests' playwright-core must be in the cache (test/browser.sh).
set -eu
cd "$(dirname "$0")/.."
if [ "${2:-}" != inside ]; then
	unshare --pid --fork --mount-proc --uts --kill-child "$0" "$(realpath "$1")" inside &
	trap 'kill -KILL $!; rm -rf /tmp/shop' EXIT
	sleep "${SECONDS_OF_LOAD:-75}"
	CHROMIUM=$(command -v chromium) node --input-type=module -e '
import { start } from "./bench/ui/chromium.mjs";
const browser = await start(process.argv[1]);
await browser.page.setViewportSize({ width: 1280, height: 900 });
await browser.page.goto("http://127.0.0.1:11999/?from=now-1m");
await browser.page.waitForTimeout(6000);
await browser.page.screenshot({ path: "docs/page.png" });
await browser.end();
' "$HOME/.cache/wick-test/playwright-core-1.65.0"
	ls -l docs/page.png
	exit
fi
wick=$1
hostname web-1
work=/tmp/shop
mkdir -p $work
cat >$work/orders.py <<'END'
import json, re
def parse(text): return json.loads(text)
def price(order): return sum(item["price"] * item["count"] for item in order["items"])
def render(order): return re.sub(r"\d+", lambda m: m[0].rjust(6), json.dumps(order))
def serve():
    text = json.dumps({"items": [{"price": n, "count": n % 7} for n in range(400)]})
    while True:
        order = parse(text); order["total"] = price(order); render(order)
serve()
END
cat >$work/search.js <<'END'
const words = Array.from({ length: 20000 }, (_, n) => (n * 7919 % 100003).toString(36));
function score(word, query) { let best = 0; for (let i = 0; i < word.length; i++) if (word[i] === query[i % query.length]) best++; return best; }
function rank(query) { return words.map(word => [score(word, query), word]).sort((a, b) => b[0] - a[0]).slice(0, 10); }
function main() { for (let n = 0; ; n++) rank("q" + n % 97); }
main();
END
python3 $work/orders.py &
node $work/search.js &
while :; do head -c 8000000 /dev/urandom | gzip -9 >/dev/null; done &
# On a busy machine it would save CPU time at the stacks.
exec "$wick" --max-cpu=50 --listen=127.0.0.1:11999 --store.path=$work/store >/dev/null 2>&1
