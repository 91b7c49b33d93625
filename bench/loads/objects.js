// SPDX-License-Identifier: Apache-2.0
// Part of the mixed load: Node that builds, walks and serialises objects, compiled and collected as it goes.
"use strict";

function tree(depth, seed) {
	if (depth === 0)
		return { leaf: `number ${seed} of many`.split(" ") };
	return { left: tree(depth - 1, seed * 2), right: tree(depth - 1, seed * 2 + 1) };
}

function count(node, totals) {
	if (node.leaf) {
		for (const word of node.leaf)
			totals.set(word, (totals.get(word) || 0) + 1);
		return totals;
	}
	count(node.left, totals);
	return count(node.right, totals);
}

for (;;) {
	const copy = JSON.parse(JSON.stringify(tree(10, 1)));
	[...count(copy, new Map())].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
}
