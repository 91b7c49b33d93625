// SPDX-License-Identifier: Apache-2.0

// The receiver, the proxy and the writers of Datadog's trace-agent, from its own packages: what an Agent does with profiles.
// Usage: trace-agent PORT SOCKET INTAKE
package main

import (
	"context"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	gzip "github.com/DataDog/datadog-agent/comp/trace/compression/impl-gzip"
	"github.com/DataDog/datadog-agent/pkg/trace/agent"
	"github.com/DataDog/datadog-agent/pkg/trace/config"
	"github.com/DataDog/datadog-agent/pkg/trace/telemetry"
	"github.com/DataDog/datadog-go/v5/statsd"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := config.New()
	cfg.Endpoints[0].APIKey = "the-agents-key"
	cfg.Endpoints[0].Host = os.Args[3]
	cfg.Hostname = "agents-host"
	cfg.DefaultEnv = "agents-env"
	cfg.ReceiverHost = "127.0.0.1"
	cfg.ReceiverPort = port
	cfg.ReceiverSocket = os.Args[2]
	cfg.TelemetryConfig.Enabled = false
	cfg.DebugServerPort = 0
	cfg.ProfilingProxy.DDURL = os.Args[3] + "/api/v2/profile"
	a := agent.NewAgent(ctx, cfg, telemetry.NewNoopCollector(), &statsd.NoOpClient{}, gzip.NewComponent())
	a.Run()
}
