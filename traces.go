package graphd

import (
	"cmp"
	"fmt"
	"os"

	"github.com/graphd/graphd/internal/trace"
)

// openTraces makes what tells a collector of epochs; nil where none is configured.
func (c *Config) openTraces() (*trace.Tracer, error) {
	host, _ := os.Hostname() // a daemon without a name is told apart by its address
	t, err := trace.New(trace.Config{Endpoint: c.OTLPEndpoint, Headers: c.OTLPHeaders, Ratio: c.TraceRatio,
		Slow: c.TraceSlow, Version: c.Version.Version, Instance: cmp.Or(c.Advertise, host, c.Listen), Log: c.Log})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return t, nil
}
