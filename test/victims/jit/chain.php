<?php
// SPDX-License-Identifier: Apache-2.0
function leaf($n)
{
	for ($i = 0; $i < 100000; $i++)
		$n = ($n * 1103 + 12345) & 0x7fffff;
	return $n;
}

echo getmypid(), "\n";
for ($n = 1;;)
	$n = leaf($n);
