// SPDX-License-Identifier: Apache-2.0
// A module of its own.
export function spinAround(rounds: number): number {
	let x = 0;
	for (let i = 0; i < rounds * 1000; i++)
		x = (x * 31 + i) % 1000003;
	return x;
}
