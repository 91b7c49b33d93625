#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make run` does once wick is built: profile this machine for 10 s and show the result.
set -eu
wick=$1
file=$(dirname "$wick")/wick.pb.gz
"$wick" record -d "${RUN_SECONDS:-10}" -o "$file"
"$wick" report -n 30 "$file"
