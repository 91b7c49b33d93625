// SPDX-License-Identifier: Apache-2.0
// victim.js SCENARIO [SECONDS]: prints its pid, then runs a chain of calls with a known split of work, until it is killed.
'use strict';

function spin(rounds) {
	let x = 0;
	for (let i = 0; i < rounds * 1000; i++)
		x = (x * 31 + i) % 1000003;
	return x;
}

function a() {
	return spin(6); // @a
}

function b() {
	return spin(3); // @b
}

function c() {
	return spin(1); // @c
}

function split() {
	return a() + b() + c(); // @split
}

function down(depth) {
	return depth ? down(depth - 1) + 1 : spin(200);
}

function recursion() {
	return down(499);
}

function thrower() {
	spin(500);
	throw new Error('thrown');
}

function handler() {
	return spin(500);
}

function exceptions() {
	try {
		return thrower();
	} catch (error) {
		return handler();
	}
}

function* numbers() {
	for (let i = 0; i < 10; i++)
		yield spin(1);
}

function generators() {
	let x = 0;
	for (const n of numbers())
		x += n;
	return x;
}

function each(n) {
	return spin(n);
}

function builtins() {
	return [1, 2, 3].map(each);
}

function replace(text) {
	return spin(3) + text;
}

function substitution() {
	return 'a-b-c'.replace(/[a-c]/g, replace);
}

class Base {
	constructor() {
		this.x = spin(2);
	}
}

class Derived extends Base {
	constructor() {
		super();
		this.y = this.größe();
	}

	größe() {
		return spin(2);
	}
}

function objects() {
	return new Derived();
}

async function inner() {
	await null;
	return spin(5);
}

async function coroutines() {
	for (;;)
		await inner();
}

const scenarios = { split, recursion, exceptions, generators, builtins, substitution, objects };

function main(scenario, end) {
	while (performance.now() < end)
		for (let i = 0; i < 100; i++)
			scenario(); // @main
}

console.log(process.pid);
if (process.argv[2] === 'coroutines')
	coroutines();
else
	main(scenarios[process.argv[2]], 1000 * (process.argv[3] || Infinity));
