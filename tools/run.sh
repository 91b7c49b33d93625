#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What `make run` does once wick is built: profile this machine and serve the page until it is stopped.
set -eu
echo "Open http://localhost:11000 in a browser; Ctrl-C ends it."
exec "$@"
