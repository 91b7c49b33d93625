// SPDX-License-Identifier: Apache-2.0

//go:build with_c

package main

/*
#include <stdint.h>
static __attribute__((noinline)) uint64_t c_spin(uint64_t n)
{
	uint64_t x = n;

	while (n--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}
*/
import "C"

func init() { inC = func(n int) uint64 { return uint64(C.c_spin(C.uint64_t(n))) } }

// RunMain is for a program in C that has loaded this one as a library.
//
//export RunMain
func RunMain() { main() }
