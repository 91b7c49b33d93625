module peer

go 1.25.0

require go.opentelemetry.io/ebpf-profiler v0.0.202633
