// SPDX-License-Identifier: Apache-2.0

// work SCENARIO SECONDS: prints its pid, then is busy in functions whose calls and shares of time are known, until it has
// had the processor for that long. With WICK_CPU_PROFILE=FILE Go's own profiler watches, too.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

var sink uint64

//go:noinline
func spin(n int) uint64 {
	x := uint64(n)
	for i := 0; i < n*10000; i++ {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

//go:noinline
func a() uint64 { return spin(6) + 1 } // @a

//go:noinline
func b() uint64 { return spin(3) + 1 } // @b

//go:noinline
func c() uint64 { return spin(1) + 1 } // @c

//go:noinline
func split() uint64 {
	x := a()
	x += b()
	return x + c()
}

//go:noinline
func down(depth int) uint64 {
	if depth == 0 {
		return spin(100)
	}
	return down(depth-1) + 1
}

//go:noinline
func recursion() uint64 { return down(499) + 1 }

//go:noinline
func thrower() uint64 {
	if spin(50) != 1 {
		panic("thrown")
	}
	return 0
}

//go:noinline
func catcher() (x uint64) {
	defer func() { // runs on top of what has panicked
		_ = recover()
		x = spin(50)
	}()
	return thrower() + 1
}

type shape interface{ area() uint64 }
type square struct{ side int }

//go:noinline
func (s *square) area() uint64 { return spin(s.side) + 1 }

//go:noinline
func sum[T shape](shapes ...T) (x uint64) {
	for _, s := range shapes {
		x += s.area()
	}
	return x + 1
}

//go:noinline
func objects() uint64 { return sum[shape](&square{20}, &square{30}) + 1 }

// A goroutine each time, eight at once.
//
//go:noinline
func goroutines() uint64 {
	var wait sync.WaitGroup
	for i := 0; i < 8; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			split()
		}()
	}
	wait.Wait()
	return 1
}

//go:noinline
func eat(depth int) uint64 {
	var room [512]byte
	room[depth%len(room)] = byte(depth)
	if depth == 0 {
		return uint64(room[0])
	}
	return eat(depth-1) + uint64(room[depth%len(room)])
}

// A stack that grows from 8 KiB to 1 MiB, and is copied each time.
//
//go:noinline
func growth() uint64 {
	done := make(chan uint64)
	go func() { done <- eat(1000) }()
	return <-done
}

// Two goroutines that wait for each other.
//
//go:noinline
func channels() (x uint64) {
	to, from := make(chan uint64), make(chan uint64)
	go func() {
		for v := range to {
			from <- v + 1
		}
		close(from)
	}()
	for i := 0; i < 1000; i++ {
		to <- x
		x = <-from
	}
	close(to)
	return x
}

var kept [1024][]byte

//go:noinline
func garbage() uint64 {
	for i := range kept {
		kept[i] = make([]byte, 4096+i)
	}
	return uint64(len(kept))
}

var scenarios = map[string]func() uint64{
	"split": split, "recursion": recursion, "panics": catcher, "objects": objects, "goroutines": goroutines,
	"growth": growth, "channels": channels, "garbage": garbage,
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

//go:noinline
func scenario(work func() uint64, seconds float64) {
	for cpuSeconds() < seconds {
		for i := 0; i < 10; i++ {
			sink += work()
		}
	}
}

func main() {
	seconds, err := strconv.ParseFloat(os.Args[2], 64)
	if err != nil {
		panic(err)
	}
	if path := os.Getenv("WICK_CPU_PROFILE"); path != "" {
		file, err := os.Create(path)
		if err != nil {
			panic(err)
		}
		defer file.Close()
		runtime.SetCPUProfileRate(250) // StartCPUProfile says that it cannot have its 100, and goes on
		if err := pprof.StartCPUProfile(file); err != nil {
			panic(err)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Println(os.Getpid())
	scenario(scenarios[os.Args[1]], seconds)
}
