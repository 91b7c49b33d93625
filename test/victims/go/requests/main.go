// SPDX-License-Identifier: Apache-2.0

// Requests in goroutines that say so by labels, in the keys that tracing libraries set; each goes from one goroutine to
// another, and so from thread to thread: requests SECONDS LENGTH. In the end it tells the ids of each kind of request.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"time"
)

var (
	sum  [4]uint64
	lock sync.Mutex
	told []string
)

//go:noinline
func burn(worker int, until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 20000; i++ {
			sum[worker] += uint64(i)
		}
	}
}

//go:noinline
func grafana(worker int, length time.Duration) { burn(worker, time.Now().Add(length)); runtime.KeepAlive(worker) }

//go:noinline
func datadog(worker int, length time.Duration) { burn(worker, time.Now().Add(length)); runtime.KeepAlive(worker) }

//go:noinline
func outside(worker int, length time.Duration) { burn(worker, time.Now().Add(length)); runtime.KeepAlive(worker) }

type request struct {
	number, span uint64
	hops         int
}

func (r *request) tell(trace, span, function string) {
	lock.Lock()
	defer lock.Unlock()
	told = append(told, fmt.Sprintf("span %s %s %s 0 1", trace, span, function))
}

func (r *request) work(worker int, length time.Duration) {
	trace, span := fmt.Sprintf("%016x%016x", 0xabcdef, r.number), fmt.Sprintf("%016x", r.span)
	if r.number%2 == 0 {
		r.tell(trace, span, "grafana")
		pprof.Do(context.Background(), pprof.Labels("trace_id", trace, "span_id", span, "span_name", "GET /x"),
			func(context.Context) { grafana(worker, length) })
	} else {
		r.tell(trace, span, "datadog")
		pprof.Do(context.Background(), pprof.Labels("trace id", trace, "span id", strconv.FormatUint(r.span, 10), "trace endpoint", "GET /y"),
			func(context.Context) { datadog(worker, length) })
	}
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	length, _ := time.ParseDuration(os.Args[2])
	end := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	queue := make(chan *request, 64)
	var group sync.WaitGroup
	for worker := 0; worker < 2; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			for number := uint64(worker); time.Now().Before(end); number += 2 {
				select {
				case r := <-queue:
					r.hops++
					r.work(worker, length)
				default:
					r := &request{number: number, span: 1000 + number}
					r.work(worker, length)
					queue <- r
				}
				outside(worker, length/4)
				runtime.Gosched()
			}
		}(worker)
	}
	group.Wait()
	for _, line := range told {
		fmt.Println(line)
	}
}
