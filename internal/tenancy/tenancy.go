// Package tenancy is what the daemon's configuration says of tenants: what the declarations of each may reach,
// and where its files are. Begin with [Config.Tenants], which answers for each tenant.
//
// The default tenant has the settings of the daemon itself. Any other has what its own section lists, and nothing of
// the default tenant's that could tell of it: a folder of files of its own, no secrets, no variables and no
// connections. Kinds and the addresses that may be called are those of the daemon where it lists none.
package tenancy

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/graphd/graphd/internal/builtin"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/policy"
	"github.com/graphd/graphd/internal/quota"
)

// Settings are one tenant's. The zero value of a field means its default.
type Settings struct {
	// FilesDir is the folder below which its declarations read and write files, and where their relative paths
	// begin; default "tenants/NAME/files" in the daemon's folder of data.
	FilesDir string
	// SecretsDir is the folder below which their ${file:…} reads; without it there is none.
	SecretsDir string
	// AllowKinds and AllowOutbound are as those of the daemon, which count where they are nil.
	AllowKinds, AllowOutbound []string
	// Connections are databases and clusters, as NAME=ADDRESS, and KafkaBrokers the brokers of declarations that
	// name none; without them there are none.
	Connections, KafkaBrokers []string
	// Variables are what ${GRAPHD_VAR_…} reads, by the whole name; the environment is not read.
	Variables map[string]string
	// Quota bounds what the tenant may have of the daemon.
	Quota quota.Limits
}

// Config is what is known of all tenants.
type Config struct {
	// Data is the daemon's folder of data.
	Data string
	// Default is what the default tenant may reach, and the kinds and addresses of tenants that list none.
	Default builtin.Reach
	// Own are the settings of single tenants, by name.
	Own map[string]Settings
	// Quotas are those of all tenants, by [Quotas]; nil bounds nobody.
	Quotas *quota.Book
	// Known are all kinds there are.
	Known []string
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// CheckAll finds all that is wrong with the settings of tenants. part is whose, and behind a point which: its key in
// the file, where the mistake is not of the tenant as a whole.
func CheckAll(own map[string]Settings, known []string, found func(part string, err error)) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		s := own[name]
		check(name, &s, known, func(key string, err error) {
			found(strings.TrimSuffix(name+"."+key, "."), fmt.Errorf("%s: %w", name, err))
		})
	}
}

// check finds all that is wrong with a tenant's settings, each with its key, "" where it is of the tenant as a whole. A
// folder that is not there is an [os.ErrNotExist].
func check(name string, s *Settings, known []string, found func(key string, err error)) {
	add := func(key string, err error) {
		if err != nil {
			found(key, err)
		}
	}
	quotasAlone := s.FilesDir+s.SecretsDir == "" && s.AllowKinds == nil && s.AllowOutbound == nil &&
		s.Connections == nil && s.KafkaBrokers == nil && s.Variables == nil
	switch {
	case name == quota.All && !quotasAlone:
		add("", errors.New("* has quotas alone, those of tenants without their own"))
	case name == checkpoint.DefaultTenant && !quotasAlone:
		add("", errors.New("the tenant default has the settings of the daemon itself, and quotas alone here"))
	case name != quota.All && !nameForm.MatchString(name):
		add("", fmt.Errorf("%q cannot be a tenant: a name has lower-case letters, digits and _, and begins with a "+
			"letter", name))
		return
	}
	add("", s.Quota.Check())
	if name == quota.All || name == checkpoint.DefaultTenant {
		return
	}
	add("files_dir", CheckFolder("files_dir", s.FilesDir))
	add("secrets_dir", CheckFolder("secrets_dir", s.SecretsDir))
	for _, variable := range slices.Sorted(maps.Keys(s.Variables)) {
		if !strings.HasPrefix(variable, policy.Prefix) {
			add("variables."+variable, fmt.Errorf("the variable %s: its name must begin with %s", variable,
				policy.Prefix))
		}
	}
	for _, broker := range s.KafkaBrokers {
		add("kafka_brokers", outbound.CheckHostPort(broker))
	}
	_, err := outbound.New(outbound.Config{Allow: s.AllowOutbound})
	add("allow_outbound", err)
	add("allow_kinds", (&policy.Policy{Kinds: s.AllowKinds}).Validate(known))
	_, err = Connections(s.Connections, func(string) {})
	add("connections", err)
}

// CheckFolder refuses a folder that is none; setting names it.
func CheckFolder(setting, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(path); err != nil {
		return fmt.Errorf("the folder of %s cannot be read: %w", setting, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s is not a folder; %s names one", path, setting)
	}
	return nil
}

// maxAddress bounds the file of an address.
const maxAddress = 64 << 10

// another is where one connection begins in the address of another, by somebody who takes commas for what is
// between members.
var another = regexp.MustCompile(`[,;\s][a-z][a-z0-9_]*=(postgres(ql)?://|kafka://|file:|store\b)`)

// Connections reads connections that are written as NAME=ADDRESS; closed is told of each file that has an address.
func Connections(list []string, closed func(path string)) (outbound.Named, error) {
	named := outbound.Named{}
	for _, text := range list {
		name, address, ok := strings.Cut(text, "=")
		if !ok || !outbound.ValidName(name) { // which may be an address with its password: it is not told
			return nil, errors.New("there is a connection without a name: write NAME=ADDRESS, where NAME has " +
				"lower-case letters, digits and _, and begins with a letter")
		}
		if _, twice := named[name]; twice {
			return nil, fmt.Errorf("the connection %q is there twice: write each name once", name)
		}
		if another.MatchString(address) {
			return nil, fmt.Errorf("the connection %q: another begins within its address; write each as a member of "+
				"its own, in the environment on a line of its own", name)
		}
		if path, ok := strings.CutPrefix(address, "file:"); ok {
			text, err := (*policy.Policy)(nil).Read(path, maxAddress)
			if err != nil {
				return nil, fmt.Errorf("the connection %s: %w", name, err)
			}
			address = strings.TrimSpace(string(text))
			closed(path)
		}
		named[name] = address
	}
	return named, builtin.CheckConnections(named)
}

// Tenants are what declarations may reach, by tenant. Safe for concurrent use.
type Tenants struct {
	cfg   Config
	known map[string]*builtin.Reach // of the tenants with settings

	mu     sync.Mutex
	others map[string]*builtin.Reach // of those without, as they were asked for
}

// maxOthers bounds what is remembered of tenants without settings of their own; more are made anew.
const maxOthers = 1024

// Tenants checks the settings of all tenants, and closes the folders of each to the others.
func (c Config) Tenants() (*Tenants, error) {
	t := &Tenants{cfg: c, known: map[string]*builtin.Reach{}, others: map[string]*builtin.Reach{}}
	for name, s := range c.Own {
		var wrong error
		check(name, &s, c.Known, func(_ string, err error) { wrong = errors.Join(wrong, err) })
		if wrong != nil {
			return nil, fmt.Errorf("the tenant %s: %w", name, wrong)
		}
		if name == quota.All || name == checkpoint.DefaultTenant {
			continue
		}
		r, err := t.reach(name, &s)
		if err != nil {
			return nil, fmt.Errorf("the tenant %s: %w", name, err)
		}
		t.known[name] = r
	}
	if _, err := c.Overlaps(); err != nil {
		return nil, err
	}
	t.close()
	if c.Quotas.Limits(checkpoint.DefaultTenant).Outbound > 0 {
		guard, err := t.guard(checkpoint.DefaultTenant, &Settings{})
		if err != nil {
			return nil, err
		}
		t.cfg.Default.Guard = guard
	}
	return t, nil
}

// close closes what is of one tenant to all others, and what the daemon keeps closed.
func (t *Tenants) close() {
	byDefault := t.cfg.Default.Access
	daemons, files := slices.Clone(byDefault.Closed), map[string][]string{} // files with addresses of connections
	for name, r := range t.known {
		files[name] = r.Access.Closed
	}
	for _, r := range t.known {
		for _, path := range slices.Concat(r.Access.Folders, r.Access.Closed, []string{r.Access.Secrets}) {
			byDefault.Closed = add(byDefault.Closed, path)
		}
	}
	for name, r := range t.known {
		own := r.Access.Folders
		closed := slices.Concat(files[name], daemons, byDefault.Folders, []string{byDefault.Secrets})
		for other, o := range t.known {
			if closed = add(closed, o.Access.Secrets); other != name {
				closed = slices.Concat(closed, o.Access.Folders, files[other])
			}
		}
		r.Access.Closed = nil
		for _, path := range closed {
			// A folder of another that this one's is in stays closed around it; one that two share is both's.
			if !slices.Contains(own, path) {
				r.Access.Closed = add(r.Access.Closed, path)
			}
		}
	}
}

func add(list []string, path string) []string {
	if path == "" || slices.Contains(list, path) {
		return list
	}
	return append(list, path)
}

// Of is what a tenant's declarations may reach.
func (t *Tenants) Of(tenant string) *builtin.Reach {
	if tenant == checkpoint.DefaultTenant {
		return &t.cfg.Default
	}
	if r := t.known[tenant]; r != nil {
		return r
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.others[tenant]
	if r == nil {
		r = t.plain(tenant)
		if len(t.others) < maxOthers {
			t.others[tenant] = r
		}
	}
	return r
}

// plain is what a tenant without settings may reach.
func (t *Tenants) plain(tenant string) *builtin.Reach {
	r, err := t.reach(tenant, &Settings{})
	if err != nil { // without settings nothing can be wrong with them; nothing opens by what is wrong elsewhere
		return &builtin.Reach{Access: &policy.Policy{Kinds: []string{}}, Guard: t.cfg.Default.Guard,
			Connections: outbound.Named{}}
	}
	closed := slices.Clone(t.cfg.Default.Access.Closed)
	for _, path := range append(slices.Clone(t.cfg.Default.Access.Folders), t.cfg.Default.Access.Secrets) {
		closed = add(closed, path)
	}
	r.Access.Closed = closed
	return r
}

// reach is what a tenant's settings let its declarations reach, without what is closed for the others' sake.
func (t *Tenants) reach(name string, s *Settings) (*builtin.Reach, error) {
	byDefault := &t.cfg.Default
	p := &policy.Policy{Tenant: name, Kinds: s.AllowKinds, Secrets: s.SecretsDir}
	p.Variable = func(variable string) (string, bool) {
		text, ok := s.Variables[variable]
		return text, ok
	}
	if p.Kinds == nil {
		p.Kinds = byDefault.Access.Kinds
	}
	folder, err := filepath.Abs(t.cfg.filesOf(name, s))
	if err == nil && p.Secrets != "" {
		p.Secrets, err = filepath.Abs(p.Secrets)
	}
	if err != nil {
		return nil, err
	}
	p.Folders = []string{folder}
	named, err := Connections(s.Connections, func(path string) { p.Closed = append(p.Closed, path) })
	if err != nil {
		return nil, err
	}
	guard, err := t.guard(name, s)
	if err != nil {
		return nil, err
	}
	return &builtin.Reach{Access: p, Guard: guard, Connections: named, KafkaBrokers: s.KafkaBrokers,
		Folder: folder}, nil
}

// guard is what a tenant's calls go through.
func (t *Tenants) guard(name string, s *Settings) (*outbound.Guard, error) {
	calls := t.cfg.Quotas.Limits(name).Outbound
	guard, err := t.cfg.Default.Guard.Within(s.AllowOutbound, calls)
	if err == nil && calls > 0 {
		t.cfg.Quotas.Watch(name, quota.Outbound, func() quota.Use {
			used, limit, _ := guard.Use()
			u := quota.Use{Used: used, Limit: limit, Refused: guard.Waited()}
			if since, waiting := guard.Waiting(); waiting && time.Since(since) >= quota.SlowedFor {
				u.Since = since
			}
			return u
		})
	}
	return guard, err
}

// Quotas are those of all tenants.
func Quotas(own map[string]Settings) *quota.Book {
	all := make(map[string]quota.Limits, len(own))
	for name, s := range own {
		all[name] = s.Quota
	}
	return quota.NewBook(all)
}
