package arrival

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/graphd/graphd/internal/rates"
)

// Config bounds what comes in over the network, from whomever. The zero value of a field means its default. What
// bounds an address does not bound this machine's own programs; what bounds a token nobody who needs none.
type Config struct {
	// MaxConnections bounds the connections, default 4,096; MaxConnectionsEach those of one address, default 1,024.
	MaxConnections, MaxConnectionsEach int
	// MaxRequests are those of an address, and of a token, in a second, default 10,000; twice as many at once.
	MaxRequests int
	// MaxTokenFrames are the frames that the WebSocket connections of one token send in a second, default 200,000.
	MaxTokenFrames int
	// MaxPushBytes are the bytes that are pushed with one token in a second, default 256 MiB.
	MaxPushBytes int64
	// MaxTokenFailures is how often an address may show what is no token in a minute, default 60.
	MaxTokenFailures int
	// TrustedProxies are the networks, 10.0.0.0/8, and addresses of proxies whose X-Forwarded-For is believed.
	TrustedProxies []string
	// HeaderTimeout is how long a client may take for a handshake of TLS, and for a request's line and headers,
	// default 5s; RequestTimeout for all of a request, default 2m; IdleTimeout between requests, default 2m.
	HeaderTimeout, RequestTimeout, IdleTimeout time.Duration
	// WriteTimeout is how long it may take nothing of an answer, default 30s.
	WriteTimeout time.Duration
	// Linger is how long a refusal waits of one who goes on although it was told when to come again, default 1s; less
	// than 0 is not at all.
	Linger time.Duration
}

// numbers are those that must not be negative, by the setting.
func (c *Config) numbers() map[string]int64 {
	return map[string]int64{
		"max-connections": int64(c.MaxConnections), "max-connections-per-address": int64(c.MaxConnectionsEach),
		"max-requests": int64(c.MaxRequests), "max-token-frames": int64(c.MaxTokenFrames),
		"max-push-bytes": c.MaxPushBytes, "max-token-failures": int64(c.MaxTokenFailures),
		"header-timeout": int64(c.HeaderTimeout), "request-timeout": int64(c.RequestTimeout),
		"idle-timeout": int64(c.IdleTimeout), "write-timeout": int64(c.WriteTimeout),
	}
}

// Check finds every mistake, by the setting.
func (c *Config) Check(found func(setting string, err error)) {
	for _, proxy := range c.TrustedProxies {
		_, err := ParseProxies([]string{proxy})
		found("trusted-proxies", err)
	}
	numbers := c.numbers()
	for _, setting := range slices.Sorted(maps.Keys(numbers)) {
		if numbers[setting] < 0 {
			found(setting, errors.New("it must not be negative"))
		}
	}
}

// Validate is every mistake.
func (c *Config) Validate() error {
	var all []error
	c.Check(func(setting string, err error) {
		if err != nil {
			all = append(all, fmt.Errorf("%s: %w", setting, err))
		}
	})
	return errors.Join(all...)
}

func (c Config) withDefaults() Config {
	c.MaxConnections, c.MaxConnectionsEach = cmp.Or(c.MaxConnections, 4096), cmp.Or(c.MaxConnectionsEach, 1024)
	c.MaxRequests, c.MaxTokenFrames = cmp.Or(c.MaxRequests, 10_000), cmp.Or(c.MaxTokenFrames, 200_000)
	c.Linger = cmp.Or(c.Linger, lingers)
	c.MaxPushBytes, c.MaxTokenFailures = cmp.Or(c.MaxPushBytes, 256<<20), cmp.Or(c.MaxTokenFailures, 60)
	return c
}

// keys is how many addresses, and how many tokens, are told apart: 2 MiB of them at most.
const keys = 10_000

// Failures are the rates of addresses that show what is no token.
func (c Config) Failures() *rates.Rates {
	most := c.withDefaults().MaxTokenFailures
	return rates.New(rates.Config{PerSecond: float64(most) / 60, Burst: most, Keys: keys})
}
