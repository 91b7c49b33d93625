#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what the named purposes need: deps.sh build|test|kernels|runtimes|bench|dist|rpm|fresh|all ...
# PACKAGE/COMMAND is satisfied by the command, wherever it comes from.
# As root on Debian by apt; elsewhere it says what is missing. Silent when nothing is.
set -eu

build='gcc libc6-dev make clang llvm bpftool pkg-config libbpf-dev libelf-dev libdw-dev liblzma-dev libiberty-dev
zlib1g-dev libzstd-dev libxxhash-dev libcurl4-openssl-dev
libssl-dev libnghttp2-dev libyaml-dev libsqlite3-dev libpcre2-dev libseccomp-dev linux-libc-dev'
# libclang-rt-dev: what fuzz targets and clang's sanitizers link; clang only recommends it.
test='libclang-rt-dev jq/jq curl openssl openjdk-17-jdk-headless/javac g++ gdb linux-perf bpftrace binutils elfutils debuginfod musl-tools python3 python3-venv procps strace tmux mandoc rustc/rustc golang-go/go lld nodejs/node npm/npm chromium/chromium'
kernels='qemu-system-x86 qemu-system-arm gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross busybox-static cpio xz-utils zstd'
runtimes='maven/mvn php-cli/php'
bench='golang-go/go linux-perf bpftrace python3 nodejs'
dist='dpkg-dev perl patch tcl/tclsh libcrypt-dev debhelper lintian systemd/systemd-analyze ca-certificates runc/runc containerd/containerd kubernetes-client/kubectl'
rpm='rpm/rpmbuild rpmlint/rpmlint'
fresh='debootstrap'
all=''

wanted=
for purpose in "$@"; do
	eval "wanted=\"\$wanted \$$purpose\""
done

missing=
for package in $wanted; do
	case $package in
	*/*)
		! command -v "${package#*/}" >/dev/null || continue
		package=${package%/*}
		;;
	esac
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if ! command -v apt-get >/dev/null; then
	echo "wick needs the equivalents of these Debian packages:$missing" >&2
	exit 1
fi
if [ "$(id -u)" != 0 ]; then
	echo "Missing packages; run: sudo apt-get install -y$missing" >&2
	exit 1
fi
echo "Installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $missing >/dev/null
