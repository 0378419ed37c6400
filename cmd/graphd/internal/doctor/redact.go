package doctor

import (
	"bytes"
	"encoding/json"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/graphd/graphd/cmd/graphd/internal/settings"
	"github.com/graphd/graphd/internal/policy"
	"github.com/spf13/pflag"
)

const hidden = "«hidden»"

// told are the settings whose text may be told; of others the numbers, durations and flags are.
var told = []string{"listen", "data", "graphs", "auth", "tls-cert", "tls-key", "tls-min", "tls-client-ca",
	"tls-client-auth", "hosts", "origins", "allow-outbound", "files-dir", "secrets-dir", "allow-kinds", "kafka-brokers",
	"advertise", "member-listen", "member-secret", "memory-limit", "log-level", "log-format", "trusted-proxies",
	"mcp"}

// setting is one that the configuration gives.
type setting struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// Variable says that the environment gives it.
	Variable bool `json:"variable,omitempty"`
}

// settings are those that are not as they are by default, without what may be secret.
func (x *examination) settings(getenv func(string) string) []setting {
	list := []setting{}
	x.daemon.Flags.VisitAll(func(f *pflag.Flag) {
		text := f.Value.String()
		if !settings.In(f) || text == f.DefValue {
			return
		}
		s := setting{Key: settings.Key(f.Name), Value: text, Variable: getenv(settings.Env(f.Name)) != ""}
		switch f.Value.Type() {
		case "bool", "int", "int64", "duration":
		default:
			if !slices.Contains(told, f.Name) {
				s.Value = hidden
			}
		}
		if f.Name == "store" { // of what kind it is
			kind, _, _ := strings.Cut(text, ":")
			s.Value = kind + ":" + hidden
		}
		list = append(list, s)
	})
	return list
}

// secrets are texts that may stand nowhere in a bundle.
type secrets [][]byte

// leastSecret is the length from which on a text is looked for: a shorter one is in many words.
const leastSecret = 4

// add takes a text that is secret as a whole.
func (s *secrets) add(text string) {
	if text = strings.TrimSpace(text); len(text) < leastSecret || plainWord.MatchString(text) {
		return
	}
	*s = append(*s, []byte(text))
	if quoted, err := json.Marshal(text); err == nil { // as it stands in JSON
		*s = append(*s, quoted[1:len(quoted)-1])
	}
}

// address takes what is secret in an address.
func (s *secrets) address(text string) {
	for _, m := range keyword.FindAllStringSubmatch(text, -1) {
		s.add(m[1])
	}
	if m := userinfo.FindStringSubmatch(text); m != nil {
		s.add(m[1])
		if plain, err := url.PathUnescape(m[1]); err == nil {
			s.add(plain)
		}
	}
}

// header takes the value of a header, and what stands in it behind a scheme, as in "Bearer x".
func (s *secrets) header(value string) {
	s.add(value)
	if _, credentials, ok := strings.Cut(strings.TrimSpace(value), " "); ok {
		s.add(credentials)
	}
}

// named takes settings that are written as NAME=VALUE or NAME=file:PATH.
func named(list []string, take func(value string)) {
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if path, inFile := strings.CutPrefix(value, "file:"); ok && inFile {
			value = held(path)
		}
		if !ok || strings.Contains(name, ":") { // an address that nobody has named
			value = text
		}
		take(value)
	}
}

// maxHeld bounds a file with a secret.
const maxHeld = 64 << 10

// held is what a file has; nothing where it cannot be read.
func held(path string) string {
	text, err := (*policy.Policy)(nil).Read(path, maxHeld)
	if err != nil {
		return ""
	}
	return string(text)
}

// secrets are what the configuration and the environment have that is secret, as far as it can be known.
func (x *examination) secrets(getenv func(string) string) (list secrets) {
	c := &x.daemon.Config
	list.address(c.Store)
	list.address(c.OTLPEndpoint)
	named(c.OTLPHeaders, list.header)
	named(c.Connections, list.address)
	for _, t := range c.Tenants {
		named(t.Connections, list.address)
		for _, value := range t.Variables {
			list.header(value)
			list.address(value)
		}
	}
	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if secretName.MatchString(name) {
			list.header(value)
			list.address(value)
		}
	}
	list.add(getenv("PGPASSWORD"))
	list.add(getenv("GRAPHD_TOKEN"))
	list.address(getenv("GRAPHD_STORE"))
	for _, file := range []string{c.MemberSecret, c.OIDCClientSecret} {
		if file != "" {
			list.add(held(file))
		}
	}
	// The longest first: one may be a part of another.
	slices.SortFunc(list, func(a, b []byte) int { return len(b) - len(a) })
	return list
}

var (
	// plainWord is what JSON has outside of texts, too: to hide it would make none of it.
	plainWord  = regexp.MustCompile(`^(true|false|null|[0-9.]+)$`)
	userinfo   = regexp.MustCompile(`://[^/?#@\s]*:([^/?#\s]*)@`)
	keyword    = regexp.MustCompile(`(?i)(?:password|passwd|sslpassword|token|secret|api_?key)\s*=\s*'?([^&\s']+)`)
	secretName = regexp.MustCompile(`(?i)^GRAPHD_VAR_|PASS|TOKEN|SECRET|CREDENTIAL|API_?KEY|PRIVATE`)
	addressed  = regexp.MustCompile(`([a-z][a-z0-9+.-]*://)[^/\s"@]*@`)
	bare       = regexp.MustCompile(`[^\s/@"'\[,=]+:[^\s/@"]*@`) // an address without a scheme
	queried    = regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^\s"?]*\?)[^\s"]+`)
)

// hide takes what is secret out of a text, and of every address who comes and what is asked.
func (s secrets) hide(text []byte) []byte {
	for _, secret := range s {
		text = bytes.ReplaceAll(text, secret, []byte(hidden))
	}
	text = addressed.ReplaceAll(text, []byte("${1}"+hidden+"@"))
	text = bare.ReplaceAll(text, []byte(hidden+"@"))
	return queried.ReplaceAll(text, []byte("${1}"+hidden))
}
