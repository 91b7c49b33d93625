// SPDX-License-Identifier: Apache-2.0

// chain DURATION: time in a fixed chain of calls: through an inlined and a generic function into a leaf without a
// frame, from Go to C and back, through the runtime's changes of stack, and in a deep recursion.
package main

/*
#include <stdint.h>
extern uint64_t go_back(int n);
static __attribute__((noinline)) uint64_t c_inner(int n) { return go_back(n) + 1; }
static __attribute__((noinline)) uint64_t c_outer(int n) { return c_inner(n) + 1; }
*/
import "C"

import (
	"os"
	"sync"
	"time"
)

var sink uint64

//go:noinline
func leaf(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func leafOfC(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

func inlined(n int) uint64 { return leaf(n) + 1 }

//go:noinline
func generic[T int | int64](n T) uint64 { return inlined(int(n)) }

//export go_back
func go_back(n C.int) C.uint64_t { return C.uint64_t(leafOfC(int(n))) }

//go:noinline
func clock(n int) (sum int64) {
	for i := 0; i < n; i++ {
		sum += time.Now().UnixNano()
	}
	return
}

//go:noinline
func deep(depth, n int) uint64 {
	if depth == 0 {
		return clockLeaf(n)
	}
	return deep(depth-1, n) + 1
}

//go:noinline
func clockLeaf(n int) uint64 { return uint64(clock(n)) }

func work(end time.Time) {
	for time.Now().Before(end) {
		sink += generic[int](600000)
		sink += uint64(C.c_outer(300000))
		sink += deep(500, 2000)
	}
}

func main() {
	duration, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	end := time.Now().Add(duration)
	var group sync.WaitGroup
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			work(end)
		}()
	}
	group.Wait()
}
