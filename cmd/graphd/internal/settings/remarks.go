package settings

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd"
)

// Remarks are the settings of a file that can be used together and are hardly meant so, and what the
// daemon will ask of its surroundings.
func (f *File) Remarks(c *graphd.Config) []Mistake {
	var all []Mistake
	warn := func(flag, detail string) { all = append(all, f.At(flag, "", Warning, CodeUnlikely, detail)) }
	f.reached(c, warn)
	f.stored(c, warn)
	f.bounded(c, warn)
	for _, e := range c.Remarks() {
		warn(e.Setting, Key(e.Setting)+": "+e.Err.Error())
	}
	return all
}

// reached are remarks on who reaches the daemon, and what it may reach.
func (f *File) reached(c *graphd.Config, warn func(flag, detail string)) {
	loopback := onLoopback(c.Listen)
	asks := c.Auth == graphd.AuthRequired
	switch {
	case c.Insecure && loopback:
		warn("insecure", "all that insecure does for a daemon on loopback is to take calls to loopback and the "+
			"working directory from declarations: leave it out")
	case c.Insecure && asks:
		warn("insecure", "auth: required asks everybody for a token, so insecure lets nobody in: leave it out")
	case c.Insecure:
		warn("insecure", "until there is a token whoever reaches "+c.Listen+" can steer the daemon: "+
			"make one with graphd token bootstrap and leave insecure out")
	case !loopback && !asks:
		warn("listen", "the daemon does not start on "+c.Listen+" before its store has a token: make one with graphd "+
			"token bootstrap, or say auth: required")
	}
	if !loopback && len(c.Hosts) == 0 && namesNoHost(c.Listen) {
		warn("listen", "requests by a name are refused (421): list in hosts the names that proxies, containers and "+
			"clusters call the daemon by")
	}
	if f.Has("tls-min") && c.TLSCert == "" {
		warn("tls-min", "tls_min does nothing without tls_cert and tls_key")
	}
	if len(c.Origins) > 0 && c.Insecure && !asks {
		warn("origins", "the pages of these origins can steer the daemon without a token")
	}
	if f.Has("kafka-brokers") && c.AllowKinds != nil && !slices.Contains(c.AllowKinds, "source.kafka") &&
		!slices.Contains(c.AllowKinds, "sink.kafka") {
		warn("kafka-brokers", "allow_kinds has neither source.kafka nor sink.kafka: declarations from the network "+
			"cannot use these brokers")
	}
}

// stored are remarks on the store.
func (f *File) stored(c *graphd.Config, warn func(flag, detail string)) {
	shared := strings.HasPrefix(c.Store, "postgres")
	for _, flag := range []string{"lease", "capacity", "rebalance-after"} {
		if f.Has(flag) && !shared {
			warn(flag, strings.ReplaceAll(flag, "-", "_")+" is of a store that daemons share, and does nothing with "+
				Or(c.Store, "a SQLite file"))
		}
	}
	if c.Store == "memory:" {
		warn("store", "everything is lost when the daemon stops")
	}
	if path, ok := strings.CutPrefix(c.Store, "sqlite:"); ok && f.Has("data") && !within(path, c.Data) {
		warn("data", "store names a file elsewhere: data is the folder of files alone, which declarations name")
	}
	if shared && strings.Contains(c.Store, "@") && password(c.Store) && !f.inFile("store") {
		warn("store", "the password stands in the file: give the address as GRAPHD_STORE, or the password as "+
			"PGPASSWORD or in a pass file")
	}
}

// bounded are remarks on limits that leave no room for each other.
func (f *File) bounded(c *graphd.Config, warn func(flag, detail string)) {
	if c.MaxBodies > 0 && c.MaxBody > c.MaxBodies {
		warn("max-bodies", "no body of max_body bytes can be read: max_bodies is of all bodies together, and less")
	}
	// A quarter of the stop is for requests under way, and a push may wait for so long.
	stop, push := c.ShutdownTimeout, c.PushTimeout
	if stop == 0 {
		stop = 30 * time.Second
	}
	if push == 0 {
		push = 5 * time.Second
	}
	if push > stop/4 {
		warn(f.either("push-timeout", "shutdown-timeout"), "a push may wait for "+push.String()+", and a stop cuts "+
			"requests off after a quarter of shutdown_timeout, "+(stop/4).String())
	}
}

// either is the first of the flags that the file has.
func (f *File) either(flags ...string) string {
	for _, flag := range flags {
		if f.Has(flag) {
			return flag
		}
	}
	return flags[0]
}

func onLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	ip := net.ParseIP(host)
	return err != nil || host == "localhost" || ip != nil && ip.IsLoopback()
}

// namesNoHost says that the address to listen on is no name, which requests could be addressed to.
func namesNoHost(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && (host == "" || net.ParseIP(host) != nil)
}

// within says whether path lies in folder.
func within(path, folder string) bool {
	rest, err := filepath.Rel(folder, path)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator))
}

// password says whether an address has one.
func password(address string) bool {
	_, rest, _ := strings.Cut(address, "://")
	user, _, _ := strings.Cut(rest, "@")
	_, secret, ok := strings.Cut(user, ":")
	return ok && secret != ""
}

// Or is text, or other where there is none.
func Or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
