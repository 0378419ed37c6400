package graphd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/dal"
	"github.com/graphd/graphd/internal/lease"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/placement"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/server"
	"github.com/graphd/graphd/internal/server/agents"
	"github.com/graphd/graphd/internal/server/page"
	"github.com/graphd/graphd/internal/tenancy"
	"github.com/graphd/graphd/internal/trace"
)

// SettingError is a mistake in a configuration.
type SettingError struct {
	// Setting is what graphd serve calls it, such as "allow-outbound".
	Setting string
	Part    string // of a setting that is a mapping, as "acme.files_dir" of tenants; "" is all of it
	Err     error
}

func (e *SettingError) Error() string { return "--" + e.Setting + ": " + e.Err.Error() }

// Unwrap is the error itself.
func (e *SettingError) Unwrap() error { return e.Err }

// Check finds every mistake in the configuration that can be found without a store, a network and a
// port, where New would end with the first. The error of a file or folder that is not there is an
// [os.ErrNotExist]: another machine may have it.
func (c Config) Check() (found []*SettingError) {
	c.Log = nil // nothing is said but what is answered
	c.setDefaults()
	add := func(setting string, err error) {
		if err != nil {
			found = append(found, &SettingError{Setting: setting, Err: err})
		}
	}
	add("auth", c.checkAuth())
	add("listen", c.checkListen())
	add("graphs", c.checkGraphs())
	if c.Store != "" {
		add("store", dal.Check(c.Store))
	}
	add("lease", lease.Validate(c.Lease))
	add("capacity", placement.ValidateCapacity(c.Capacity))
	c.checkReached(add)
	tenancy.CheckAll(c.Tenants, (&builtin.Kinds{}).Names(), func(part string, err error) {
		found = append(found, &SettingError{"tenants", part, err})
	})
	if _, err := c.folders().Overlaps(); err != nil {
		add("tenants", err)
	}
	if _, err := (&Config{TLSMin: c.TLSMin}).openCertificate(); err != nil {
		add("tls-min", err)
	} else if _, err := c.openCertificate(); err != nil {
		add("tls-cert", err)
	}
	c.Arrivals.Check(add)
	wrong := new(trace.Mistake)
	if _, err := c.openTraces(); errors.As(err, &wrong) {
		add(wrong.Setting, wrong.Err)
	}
	if _, err := c.openIssuer(nil); err != nil {
		add("oidc-issuer", err)
	}
	add("files-dir", checkFolder("--files-dir", c.FilesDir))
	add("secrets-dir", checkFolder("--secrets-dir", c.SecretsDir))
	if c.Store == "" {
		add("data", checkData(c.Data))
	}
	return append(found, c.checkNumbers()...)
}

// checkReached looks at what is named of others: what may be called, from where, and under which names.
func (c *Config) checkReached(add func(setting string, err error)) {
	for _, one := range c.AllowOutbound { // "none" has to stand alone
		if one == "none" && len(c.AllowOutbound) > 1 {
			add("allow-outbound", errors.New("none stands alone"))
			continue
		}
		_, err := outbound.New(outbound.Config{Allow: []string{one}})
		add("allow-outbound", err)
	}
	for _, host := range c.Hosts {
		_, err := page.New([]string{host}, nil)
		add("hosts", err)
	}
	for _, origin := range c.Origins {
		_, err := page.New(nil, []string{origin})
		add("origins", err)
	}
	add("mcp", agents.Mode(c.MCP).Validate())
	for _, kind := range c.AllowKinds {
		add("allow-kinds", (&policy.Policy{Kinds: []string{kind}}).Validate((&builtin.Kinds{}).Names()))
	}
	for _, broker := range c.KafkaBrokers {
		add("kafka-brokers", outbound.CheckHostPort(broker))
	}
	if c.Advertise != "" {
		add("advertise", outbound.CheckHostPort(c.Advertise))
	}
	alone := error(nil)
	for _, connection := range c.Connections {
		_, err := (&Config{Connections: []string{connection}}).connections()
		add("connections", err)
		alone = errors.Join(alone, err)
	}
	if _, err := c.connections(); alone == nil { // a name that is there twice
		add("connections", err)
	}
}

// Remarks are what can be used of the configuration, and is hardly meant so, by setting.
func (c Config) Remarks() (found []*SettingError) {
	c.Log = nil // as Check
	c.setDefaults()
	remarks, _ := c.folders().Overlaps()
	for _, text := range remarks {
		found = append(found, &SettingError{Setting: "tenants", Err: errors.New(text)})
	}
	return found
}

// folders are the tenants with their folders, the default one with that of its files and secrets.
func (c *Config) folders() *tenancy.Config {
	files := c.FilesDir
	if files == "" {
		files = filepath.Join(c.Data, "files")
	}
	return &tenancy.Config{Data: c.Data, Own: c.Tenants,
		Default: builtin.Reach{Access: &policy.Policy{Folders: []string{files}, Secrets: c.SecretsDir}}}
}

// checkData refuses a folder of the store that cannot be one. One that is not there is made at the start.
func checkData(path string) error {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return fmt.Errorf("%s is not a folder", dir)
		case err == nil, dir == filepath.Dir(dir):
			return nil
		}
	}
}

// checkNumbers refuses those that nothing can be bounded by.
func (c *Config) checkNumbers() (found []*SettingError) {
	for _, n := range []struct {
		setting string
		value   int64
	}{
		{"max-body", c.MaxBody}, {"max-bodies", c.MaxBodies}, {"max-depth", int64(c.MaxDepth)},
		{"max-graphs", int64(c.MaxGraphs)}, {"max-epochs", int64(c.MaxEpochs)}, {"max-mailbox", int64(c.MaxMailbox)},
		{"max-websockets", int64(c.MaxSockets)}, {"max-frames", int64(c.MaxFrames)},
		{"max-outbound", int64(c.MaxOutbound)}, {"push-timeout", int64(c.PushTimeout)},
		{"shutdown-timeout", int64(c.ShutdownTimeout)}, {"rebalance-after", int64(c.RebalanceAfter)},
	} {
		if n.value < 0 {
			found = append(found, &SettingError{Setting: n.setting, Err: errors.New("it must not be negative")})
		}
	}
	if deep := (&server.Config{MaxDepth: c.MaxDepth}); c.MaxDepth > 0 && deep.Validate() != nil {
		found = append(found, &SettingError{Setting: "max-depth",
			Err: fmt.Errorf("%d is more than there can be: 1000", c.MaxDepth)})
	}
	return found
}

func (c *Config) checkLease() error {
	if err := errors.Join(lease.Validate(c.Lease), placement.ValidateCapacity(c.Capacity)); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	return nil
}
