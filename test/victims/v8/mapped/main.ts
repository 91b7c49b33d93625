// SPDX-License-Identifier: Apache-2.0
// Bundled and made small before it runs: what it is called here only its source map tells.
import { spinAround } from './work';

interface Part {
	lightPart(): number;
}

const heavyPart = (): number => {
	return spinAround(7); // @heavyPart
};

class Machine implements Part {
	lightPart(): number {
		return spinAround(3); // @lightPart
	}
}

function runBoth(machine: Part): number {
	return heavyPart() +
		machine.lightPart();
}

function runForEver(): void {
	for (;;)
		(globalThis as any).result = runBoth(new Machine()); // @runForEver
}

console.log(process.pid);
runForEver();
