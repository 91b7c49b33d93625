#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rpm.sh BUILD ARCH: makes BUILD/wick-VERSION-1.MACHINE.rpm of the archive of `make tarball`, and has rpmlint look at it. The same archive makes the
# same bytes.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
version=$(cat VERSION)
case $2 in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; *) exit 1 ;; esac
work=$build/rpm
rm -rf "$work"
mkdir -p "$work"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
rpmbuild -bb --quiet --target "$machine-linux" --define "_topdir $work" --define "_sourcedir $build" --define "_rpmdir $build" \
	--define '_rpmfilename %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm' --define "_buildhost wick" \
	--define "wick_version $version" --define "wick_arch $2" deploy/rpm/wick.spec >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
rpmlint -c deploy/rpm/rpmlint.toml "$build/wick-$version-1.$machine.rpm"
ls -l "$build/wick-$version-1.$machine.rpm"
