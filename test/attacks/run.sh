#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# All attacks, one after the other. Prints TAP.
status=0
for attack in "$(dirname "$0")"/*.py; do
	test -x "$attack" && { "$attack" || status=1; }
done
exit $status
