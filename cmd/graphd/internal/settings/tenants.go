package settings

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/quota"
	"go.yaml.in/yaml/v3"
)

// tenantsType is the type of the flag that Tenants is the value of.
const tenantsType = "tenants"

// Tenants is the value of a flag with the settings of tenants: TENANT.KEY=VALUE, repeated, and a section for each
// tenant in the file.
type Tenants struct{ Into *map[string]graphd.Tenant }

// Type says how the file is read; see [File].
func (Tenants) Type() string { return tenantsType }

// String has the names of the tenants alone: what is set may be a secret.
func (t Tenants) String() string {
	if t.Into == nil {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(*t.Into)), ",")
}

// Set takes one setting of one tenant.
func (t Tenants) Set(text string) error {
	at, value, ok := strings.Cut(text, "=")
	name, key, dotted := strings.Cut(at, ".")
	if !ok || !dotted || name == "" {
		return errors.New("must be TENANT.KEY=VALUE") // the text may be an address with its password
	}
	if *t.Into == nil {
		*t.Into = map[string]graphd.Tenant{}
	}
	s := (*t.Into)[name]
	err := setTenant(&s, key, value)
	(*t.Into)[name] = s
	if err != nil && tenantForm.MatchString(name) { // what has another form may be part of an address
		return fmt.Errorf("%s: %w", name, err)
	}
	return err
}

// tenantForm is that of the names of tenants.
var tenantForm = regexp.MustCompile(`^([a-z][a-z0-9_]{0,63}|\*)$`)

// named are the keys of a tenant that are mappings of names.
func named(key string) bool { return key == "connections" || key == "variables" }

// setTenant sets one key; what is a list has one more member, and what is a mapping another name, behind a point.
func setTenant(s *graphd.Tenant, key, value string) error {
	key, name, _ := strings.Cut(key, ".")
	texts := map[string]*string{"files_dir": &s.FilesDir, "secrets_dir": &s.SecretsDir}
	lists := map[string]*[]string{"allow_kinds": &s.AllowKinds, "allow_outbound": &s.AllowOutbound,
		"kafka_brokers": &s.KafkaBrokers}
	numbers := map[string]*int{"max_graphs": &s.Quota.Graphs, "max_websockets": &s.Quota.Sockets,
		"max_outbound": &s.Quota.Outbound, "events_per_second": &s.Quota.EventsPerSecond,
		"max_keys": &s.Quota.Keys}
	switch {
	case named(key) && name == "":
		return fmt.Errorf("%s is a mapping of names", key)
	case name != "" && !named(key):
		return fmt.Errorf("%s must not be a mapping", key)
	case key == "connections":
		s.Connections = append(s.Connections, name+"="+value)
	case key == "variables":
		if s.Variables == nil {
			s.Variables = map[string]string{}
		}
		s.Variables[name] = value
	case texts[key] != nil:
		*texts[key] = value
	case lists[key] != nil:
		for one := range strings.SplitSeq(value, ",") {
			*lists[key] = append(*lists[key], strings.TrimSpace(one))
		}
	case numbers[key] != nil:
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s must be a whole number, and is %q", key, value)
		}
		return above(key, n > 0, func() { *numbers[key] = n })
	case key == "max_stored_bytes":
		n, ok := Bytes(value)
		if number, err := strconv.ParseInt(value, 10, 64); !ok && (err != nil || number > 0) {
			return fmt.Errorf("max_stored_bytes must be a number of bytes such as 2GiB or 2147483648, and is %q", value)
		}
		return above(key, ok, func() { s.Quota.StoredBytes = n })
	case key == "cpu":
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return fmt.Errorf("cpu must be a number of cores, 0.5 for half of one, and is %q", value)
		}
		if err := (quota.Limits{CPU: n}).Check(); err != nil {
			return &coded{err, CodeInvalid}
		}
		return above(key, n > 0, func() { s.Quota.CPU = n })
	default:
		if !keyForm.MatchString(key) {
			return errors.New("must be TENANT.KEY=VALUE, where KEY is of a tenant's settings")
		}
		text := fmt.Sprintf("a tenant has no setting %q", key)
		if near := terminal.Nearest(key, tenantKeys()); near != "" {
			text += "; did you mean " + near + "?"
		}
		return &coded{errors.New(text), CodeUnknown}
	}
	return nil
}

// above takes a quota that is above 0. An explicit 0 would be no quota of its own, and that of * in its place, where
// there is one: who writes it may mean "none" as well as "no bound".
func above(key string, ok bool, take func()) error {
	if !ok {
		return &coded{fmt.Errorf("%s must be above 0; leave it out for no quota of its own", key), CodeInvalid}
	}
	take()
	return nil
}

// keyForm is that of a key. What has another may be part of an address, and is not told.
var keyForm = regexp.MustCompile(`^[a-zA-Z_]{1,40}$`)

// tenantKeys are the keys that a tenant's section may have.
func tenantKeys() []string {
	return []string{"files_dir", "secrets_dir", "allow_kinds", "allow_outbound", "connections", "kafka_brokers",
		"variables", "max_graphs", "max_websockets", "max_outbound", "events_per_second", "max_keys",
		"max_stored_bytes", "cpu"}
}

// tenants takes the sections of tenants, as a flag would be given them.
func (f *File) tenants(flag string, node *yaml.Node) {
	if node.Kind != yaml.MappingNode {
		f.add(node, flag, CodeForm, Key(flag)+" must be a mapping of tenants' names to their settings")
		return
	}
	f.flatten(flag, node, "", 0)
}

// flatten takes what stands in a mapping below at: tenants, their keys, and names of what is named.
func (f *File) flatten(flag string, node *yaml.Node, at string, depth int) {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, below := node.Content[i], resolve(node.Content[i+1])
		path := strings.TrimPrefix(at+"."+key.Value, ".")
		if before := f.parts[flag+"."+path]; before != nil {
			f.addPart(key, flag, path, CodeTwice, fmt.Sprintf("%s.%s stands in line %d already; leave one of them out",
				Key(flag), path, before.Line))
			continue
		}
		f.parts[flag+"."+path] = key
		add := func(n *yaml.Node) {
			if n = resolve(n); n.Kind != yaml.ScalarNode || n.Tag == "!!null" || !strings.Contains(path, ".") {
				f.addPart(n, flag, path, CodeForm, fmt.Sprintf("%s.%s cannot have this value", Key(flag), path))
				return
			}
			f.values[flag] = append(f.values[flag], value{path + "=" + n.Value, n, path})
		}
		switch {
		case below.Kind == yaml.MappingNode && depth < 2:
			f.flatten(flag, below, path, depth+1)
		case below.Kind == yaml.SequenceNode && depth == 1:
			for _, one := range below.Content {
				add(one)
			}
		default:
			add(below)
		}
	}
}
