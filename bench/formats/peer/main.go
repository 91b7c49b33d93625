// SPDX-License-Identifier: Apache-2.0

// The codecs of google/pprof and of the OpenTelemetry Collector, measured as bench/formats/codec.c measures ours:
//
//	peer decode|encode pprof|otlp|json FILE
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/google/pprof/profile"
	"go.opentelemetry.io/collector/pdata/pprofile"
)

type codec struct {
	decode func(data []byte) (any, error)
	encode func(decoded any) (int, error)
}

func pdata(u pprofile.Unmarshaler, m pprofile.Marshaler) codec {
	return codec{
		func(data []byte) (any, error) { return u.UnmarshalProfiles(data) },
		func(decoded any) (int, error) {
			out, err := m.MarshalProfiles(decoded.(pprofile.Profiles))
			return len(out), err
		},
	}
}

var codecs = map[string]codec{
	"pprof": {
		func(data []byte) (any, error) { return profile.ParseUncompressed(data) },
		func(decoded any) (int, error) {
			var out bytes.Buffer
			err := decoded.(*profile.Profile).WriteUncompressed(&out)
			return out.Len(), err
		},
	},
	"otlp": pdata(&pprofile.ProtoUnmarshaler{}, &pprofile.ProtoMarshaler{}),
	"json": pdata(&pprofile.JSONUnmarshaler{}, &pprofile.JSONMarshaler{}),
}

// CPU time of all threads, the collector of garbage included.
func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func memory(key string) (kib int) {
	status, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, key) {
			fmt.Sscanf(line[len(key):], "%d", &kib)
		}
	}
	return kib
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 4 {
		must(fmt.Errorf("usage: peer decode|encode pprof|otlp|json FILE"))
	}
	c, decodes := codecs[os.Args[2]], os.Args[1] == "decode"
	data, err := os.ReadFile(os.Args[3])
	must(err)
	var decoded any
	if !decodes {
		decoded, err = c.decode(data)
		must(err)
		data = nil
	}
	runtime.GC()
	debug.FreeOSMemory()
	must(os.WriteFile("/proc/self/clear_refs", []byte("5"), 0))
	before, start, rounds, passed := memory("VmRSS:"), cpu(), 0, len(data)
	for ; rounds == 0 || cpu()-start < 1500*time.Millisecond; rounds++ {
		if decodes {
			_, err = c.decode(data)
		} else {
			passed, err = c.encode(decoded)
		}
		must(err)
	}
	fmt.Println(int64(cpu()-start)/int64(rounds), passed, memory("VmHWM:")-before)
}
