module peer

go 1.26.0

require (
	github.com/DataDog/datadog-agent/comp/trace/compression/impl-gzip v0.84.1
	github.com/DataDog/datadog-agent/pkg/trace v0.84.1
	github.com/DataDog/datadog-go/v5 v5.9.1
)
