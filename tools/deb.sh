#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh BUILD: makes BUILD/wick_VERSION_ARCH.deb of the files that git knows, with the objects in BUILD, and has lintian
# look at it.
set -eu
build=$(cd "$1" && pwd)
top=$(git rev-parse --show-toplevel)
work=$build/deb
rm -rf "$work"
mkdir -p "$work/wick"
cd "$top"
# With their times: what was compiled is not compiled again.
git ls-files -z | xargs -0 cp -p --parents -t "$work/wick"
cp -rp deploy/debian "$work/wick/debian"
cp -p deploy/systemd/wick.service "$work/wick/debian/wick.service"
cd "$work/wick"
version=$(cat VERSION)
cat >debian/changelog <<END
wick ($version) unstable; urgency=medium

  * See /usr/share/doc/wick/CHANGELOG.md.gz.

 -- wick maintainers <maintainers@wick.invalid>  $(git -C "$top" log -1 --format=%cD)
END
echo CHANGELOG.md >debian/wick.docs
echo README.md >>debian/wick.docs
WICK_O=$build dpkg-buildpackage -b -us -uc -d >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
mv "$work"/wick_"${version}"_*.deb "$build"
lintian --fail-on error,warning "$build"/wick_"${version}"_*.deb
ls -l "$build"/wick_"${version}"_*.deb
