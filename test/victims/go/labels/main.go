// SPDX-License-Identifier: Apache-2.0

// labels DURATION: time in functions whose goroutines have labels that tell which function it is: for long, for a
// moment each with garbage in between, nested, many, and none.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"time"
)

var sink uint64
var garbage []byte

func spin(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func long(n int) uint64 { return spin(n) + 1 }

//go:noinline
func even(n int) uint64 { return spin(n) + 2 }

//go:noinline
func odd(n int) uint64 { return spin(n) + 3 }

//go:noinline
func inner(n int) uint64 { return spin(n) + 4 }

//go:noinline
func many(n int) uint64 { return spin(n) + 5 }

//go:noinline
func none(n int) uint64 { return spin(n) + 6 }

// viaC is in C code, if the program has any.
//
//go:noinline
func viaC(n int) uint64 { return inC(n) + 7 }

var inC = spin

const unit = 2000000

// request has labels of its own, which are garbage when it ends.
func request(number int) (sum uint64) {
	parity, work := "even", even
	if number%2 != 0 {
		parity, work = "odd", odd
	}
	set := pprof.Labels("request", fmt.Sprintf("%s-%06d", parity, number), "kind", strings.Repeat(parity, 1))
	pprof.Do(context.Background(), set, func(context.Context) { sum = work(unit / 4) })
	garbage = make([]byte, 1<<20)
	return
}

func nested() (sum uint64) {
	pprof.Do(context.Background(), pprof.Labels("level", "outer", "of", "nested"), func(ctx context.Context) {
		pprof.Do(ctx, pprof.Labels("level", "inner", "größe", "长"), func(context.Context) { sum = inner(unit) })
	})
	return
}

func twelve() (sum uint64) {
	var pairs []string
	for i := 0; i < 12; i++ {
		pairs = append(pairs, fmt.Sprintf("key%02d", i), strings.Repeat(fmt.Sprint(i%10), 10*i+1))
	}
	pprof.Do(context.Background(), pprof.Labels(pairs...), func(context.Context) { sum = many(unit) })
	return
}

func run(stop time.Time, wait *sync.WaitGroup, work func(int) uint64) {
	defer wait.Done()
	for i := 0; time.Now().Before(stop); i++ {
		sink += work(i)
	}
}

func main() {
	duration, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println(os.Getpid())
	stop := time.Now().Add(duration)
	var wait sync.WaitGroup
	wait.Add(6)
	go pprof.Do(context.Background(), pprof.Labels("function", "long"), func(context.Context) {
		run(stop, &wait, func(int) uint64 { return long(unit) })
	})
	go pprof.Do(context.Background(), pprof.Labels("function", "viaC"), func(context.Context) {
		run(stop, &wait, func(int) uint64 { return viaC(unit) })
	})
	go run(stop, &wait, request)
	go run(stop, &wait, func(int) uint64 { return nested() })
	go run(stop, &wait, func(int) uint64 { return twelve() })
	go run(stop, &wait, func(int) uint64 { return none(unit) })
	wait.Wait()
}
