// SPDX-License-Identifier: Apache-2.0

// frames STEP MAIN LOW HIGH: what the runtime itself says about its code, from ELF address LOW up to HIGH, every STEP
// bytes; MAIN is that of main.main. A line each, as test/tools/lines_dump.c writes them.
package main

import (
	"bufio"
	"fmt"
	_ "net/http" // much code
	"os"
	"reflect"
	"runtime"
	_ "runtime/pprof"
	"strconv"
	_ "unsafe"
)

//go:linkname expand runtime/pprof.runtime_expandFinalInlineFrame
func expand(stack []uintptr) []uintptr

func number(i int) uint64 {
	n, err := strconv.ParseUint(os.Args[i], 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	bias := uint64(reflect.ValueOf(main).Pointer()) - number(2)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for ea := number(3); ea < number(4); ea += number(1) {
		frames := runtime.CallersFrames(expand([]uintptr{uintptr(ea+bias) + 1}))
		separator := " "
		fmt.Fprintf(out, "%x", ea)
		for more := true; more; separator = "\t" {
			var f runtime.Frame
			f, more = frames.Next()
			if f.File == "?" {
				f.File = ""
			}
			fmt.Fprintf(out, "%s%s\t%s\t%d", separator, f.Function, f.File, f.Line)
		}
		fmt.Fprintln(out)
	}
}
