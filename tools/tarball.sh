#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tarball.sh BUILD ARCH: BUILD/wick-VERSION-linux-ARCH.tar.gz, of the one file of `make dist`, what tells of it, and a script that installs it.
# The same file makes the same bytes: times are those of the last commit, or SOURCE_DATE_EPOCH.
set -eu
cd "$(dirname "$0")/.."
build=$1 arch=$2
version=$(cat VERSION)
name=wick-$version-linux-$arch
time=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
work=$build/tarball
rm -rf "$work"
mkdir -p "$work/$name/completion"
cp "$build/dist/wick" "$build/dist/wick.spdx.json" LICENSE VERSION README.md docs/man/wick.1 deploy/config.yaml deploy/systemd/wick.service \
	deploy/tarball/install.sh "$work/$name"
cp "$build/dist/wick.licences.txt" "$work/$name/licences.txt"
cp build/completion/bash build/completion/zsh build/completion/fish "$work/$name/completion"
chmod -R u=rwX,go=rX "$work/$name"
tar -C "$work" --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner --format=ustar -c "$name" | gzip -9n >"$build/$name.tar.gz"
(cd "$build" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
rm -rf "$work"
ls -l "$build/$name.tar.gz"
