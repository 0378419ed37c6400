package doctor

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/graphd/graphd"
	"github.com/graphd/graphd/cmd/graphd/internal/terminal"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/dal"
	"github.com/graphd/graphd/internal/kafkanet"
	"github.com/graphd/graphd/internal/outbound"
	"github.com/graphd/graphd/internal/tenancy"
)

const (
	slowStore = 50 * time.Millisecond
	clockOff  = time.Second
	// endsSoon is when the end of a certificate is near.
	endsSoon = 14 * 24 * time.Hour
	// fewFiles is how many open files are few: each connection, source and sink may be one.
	fewFiles = 8192
	// littleRoom is how much of a disk, in bytes, is nothing for a store.
	littleRoom = 64 << 20
)

func (x *examination) configuration(context.Context) {
	if x.daemon.Err != nil {
		x.add("configuration", Fail, x.daemon.Err.Error(), "correct it: graphd config validate lists every mistake")
		return
	}
	bad := x.daemon.Config.Check()
	for _, e := range bad {
		x.add("configuration", Fail, e.Error(), "correct --"+e.Setting)
	}
	if len(bad) == 0 {
		x.add("configuration", OK, "graphd serve can read it", "")
	}
}

func (x *examination) store(ctx context.Context) {
	if x.daemon.Err != nil {
		x.add("store", Skip, "which one it is stands in the configuration, and that cannot be read",
			"correct the configuration, and ask again")
		return
	}
	if strings.HasPrefix(x.daemon.Config.Store, "memory:") {
		x.add("store", Warn, "it is in memory, and lost when the daemon stops", "name one with --store or --data")
		return
	}
	s, err := graphd.SchemaOf(ctx, x.daemon.Config)
	if err != nil {
		x.add("store", Fail, err.Error(), wayTo(err))
		return
	}
	p, err := graphd.AskStore(ctx, x.daemon.Config)
	if err != nil {
		x.add("store", Fail, err.Error(), wayTo(err))
		return
	}
	wants := s.Format == 0 || len(s.Missing) > 0
	switch {
	case s.Refused != nil:
		x.add("store", Fail, s.Refused.Error(), "run the release that reads it, or another store")
	case p.Server == "" && !x.mayWrite():
		x.add("store", Fail, "this user may not write it, or its folder",
			"ask as the user whom the daemon runs as; that one needs the folder and the file to write")
	case wants && p.Server != "" && !p.MayCreate:
		x.add("store", Fail, "its schema has to be made or raised, and this role may create nothing there",
			"give the role CREATE, or have graphd migrate run by a role that has it")
	case s.Format == 0:
		x.add("store", OK, "there is no "+s.Store+" store yet: the first start makes it", "")
	case wants:
		x.add("store", Warn, fmt.Sprintf("%s of format %d, and it lacks %s", s.Store, s.Format,
			terminal.Plural(len(s.Missing), "migration")), "back it up; the next start applies them, or graphd migrate")
	default:
		x.add("store", OK, fmt.Sprintf("%s of format %d, with this release's schema", s.Store, s.Format), "")
	}
	took, verdict := p.Latency.Round(10*time.Microsecond).String(), OK
	if p.Latency > slowStore {
		verdict = Warn
	}
	if p.Server != "" {
		took += ", PostgreSQL " + p.Server
	}
	x.add("store latency", verdict, took, "every checkpoint waits as long: bring the store nearer, or see to its load")
	if !p.Clock {
		x.add("clock", Skip, "the store has this machine's", "")
		return
	}
	ahead, verdict := p.Ahead.Round(time.Millisecond), OK
	if p.Ahead > clockOff || p.Ahead < -clockOff {
		verdict = Warn
	}
	x.add("clock", verdict, fmt.Sprintf("the store's is %v ahead of this machine's", ahead),
		"have NTP set both: times of firings, tokens and the audit do not fit together")
}

// wayTo says what to do about a store that cannot be read.
func wayTo(err error) string {
	if errors.Is(err, fs.ErrPermission) {
		return "ask as the user whom the daemon runs as, or let this one read the store"
	}
	return "start the database, or correct --store, --data and the way to it"
}

// mayWrite reports whether this user may write the file of the store, or make it.
func (x *examination) mayWrite() bool {
	path, inFile := strings.CutPrefix(x.daemon.Config.Store, "sqlite:")
	if !inFile {
		path = filepath.Join(x.daemon.Config.Data, "graphd.db")
	}
	for _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path); _, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	return writable(path) && (isFolder(path) || writable(filepath.Dir(path)))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// disk looks for room where the daemon keeps its data.
func (x *examination) disk(context.Context) {
	folder := x.daemon.Config.Data
	free, of, ok := room(folder)
	if !ok {
		x.add("disk", Skip, "there is no folder "+folder+" yet, or the system does not tell", "")
		return
	}
	verdict, do := enough(free, of)
	x.add("disk", verdict, fmt.Sprintf("%d of %d MiB are free for %s", free>>20, of>>20, folder), do)
}

// enough says whether what is free of a disk, in bytes, is enough for a store.
func enough(free, of uint64) (verdict, do string) {
	switch {
	case free < littleRoom:
		return Fail, "make room: a store without any takes no checkpoint, and graphs with a journal no events"
	case free < of/20:
		return Warn, "make room"
	}
	return OK, ""
}

// reached tries the databases and clusters that the configuration names.
func (x *examination) reached(ctx context.Context) {
	c := &x.daemon.Config
	named, err := tenancy.Connections(c.Connections, func(string) {})
	if err != nil {
		return // the configuration has said so
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		what := "connection " + name
		switch address := named[name]; {
		case address == outbound.StoreConnection:
			x.add(what, OK, "is the store", "")
		case strings.HasPrefix(address, "kafka:"):
			cluster, err := kafkanet.ParseAddress(address)
			x.brokers(ctx, what, cluster, err)
		default:
			p, err := dal.Ask(ctx, address)
			x.answer(what, "PostgreSQL "+p.Server, p.Latency, err)
		}
	}
	if len(c.KafkaBrokers) > 0 {
		x.brokers(ctx, "kafka brokers", kafkanet.Config{Brokers: c.KafkaBrokers}, nil)
	}
}

// brokers asks a cluster for a topic that nobody has: it answers who reaches it and may come in.
func (x *examination) brokers(ctx context.Context, what string, cluster kafkanet.Config, err error) {
	began := time.Now()
	if err == nil {
		var c *kafkanet.Client
		if c, err = kafkanet.New(cluster, []string{}); err == nil {
			_, err = c.Topics(ctx, []string{})
			err = c.Hide(err)
			c.Close()
		}
	}
	x.answer(what, "Kafka at "+strings.Join(cluster.Brokers, ", "), time.Since(began), err)
}

func (x *examination) answer(what, kind string, took time.Duration, err error) {
	if errors.Is(err, context.DeadlineExceeded) {
		x.add(what, Fail, fmt.Sprintf("%s does not answer within %v", kind, within),
			"see whether it runs, and whether something on the way takes connections and says nothing")
		return
	}
	if err != nil {
		x.add(what, Fail, err.Error(), "start it, or correct its address and credentials in the configuration, and "+
			"the network between")
		return
	}
	x.add(what, OK, fmt.Sprintf("%s answers in %v", kind, took.Round(10*time.Microsecond)), "")
}

func (x *examination) files(context.Context) {
	n, ok := openFiles()
	switch {
	case !ok:
		x.add("open files", Skip, "this system does not tell", "")
	case n < fewFiles:
		x.add("open files", Warn, fmt.Sprintf("at most %d", n),
			fmt.Sprintf("raise the limit to %d or more: LimitNOFILE= of systemd, ulimit -n", fewFiles))
	default:
		x.add("open files", OK, fmt.Sprintf("at most %d", n), "")
	}
}

func (x *examination) memory(context.Context) {
	limit := "--memory-limit " + x.daemon.Memory
	switch {
	case x.daemon.Limit > 0:
		x.add("memory", OK, fmt.Sprintf("the control group allows %d MiB; %s", x.daemon.Limit>>20, limit), "")
	case x.daemon.Memory == "" || x.daemon.Memory == "auto" || x.daemon.Memory == "none":
		x.add("memory", Warn, "the control group sets no limit, and "+limit+" none either",
			"set --memory-limit: without one the system ends the daemon when memory is short")
	default:
		x.add("memory", OK, "the control group sets no limit; "+limit, "")
	}
}

func (x *examination) certificates(context.Context) {
	c := &x.daemon.Config
	for _, f := range []struct{ flag, path string }{{"tls-cert", c.TLSCert}, {"tls-client-ca", c.TLSClientCA}} {
		if f.path == "" {
			continue
		}
		ends, err := firstEnd(f.path)
		what, do := "--"+f.flag, "put one that lasts longer into "+f.path+"; it is taken without a restart"
		switch left := ends.Sub(x.now()); {
		case err != nil:
			x.add(what, Fail, err.Error(), do)
		case left <= 0:
			x.add(what, Fail, "it has ended on "+ends.UTC().Format(time.DateOnly), do)
		case left < endsSoon:
			x.add(what, Warn, "it ends on "+ends.UTC().Format(time.DateOnly), do)
		default:
			x.add(what, OK, "it lasts until "+ends.UTC().Format(time.DateOnly), "")
		}
	}
	if c.TLSCert == "" {
		x.add("certificates", Skip, "the daemon speaks no TLS", "")
	}
}

// firstEnd is when the first certificate of a file in PEM ends.
func firstEnd(path string) (ends time.Time, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ends, fmt.Errorf("there is no file %s", path)
	}
	if err != nil {
		return ends, err
	}
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return ends, fmt.Errorf("%s has a certificate that cannot be read: %w", path, err)
		}
		if ends.IsZero() || c.NotAfter.Before(ends) {
			ends = c.NotAfter
		}
	}
	if ends.IsZero() {
		return ends, fmt.Errorf("%s has no certificate in PEM", path)
	}
	return ends, nil
}

// running asks the daemon.
func (x *examination) running(ctx context.Context) {
	v, err := x.client.Version(ctx)
	if _, refused := errors.AsType[*api.Problem](err); refused {
		x.add("daemon", Warn, "it answers, and does not let this in: "+err.Error(),
			"give a platform administrator's token: GRAPHD_TOKEN, or --token-file")
		return
	}
	if err != nil {
		x.add("daemon", Skip, "none answers: "+err.Error(), "name it with --server, or start it")
		x.add("version", OK, x.daemon.Version, "")
		return
	}
	if v.Version != x.daemon.Version {
		x.add("version", Warn, fmt.Sprintf("the daemon is %s, and this program %s", v.Version, x.daemon.Version),
			"ask the daemon with a program of its own release")
	} else {
		x.add("version", OK, v.Version, "")
	}
	status, err := x.client.Ready(ctx)
	if err != nil {
		x.add("daemon", Fail, err.Error(), "see its log, and graphd explain for the code")
	} else {
		x.add("daemon", OK, status.Status, "")
	}
	for _, w := range status.Warnings {
		x.add("warning", Warn, w.Detail, "graphd explain "+w.Code)
	}
	x.health(ctx)
	members, err := x.client.Members(ctx)
	if err != nil {
		x.add("members", Skip, err.Error(), "give a token of a platform administrator")
		return
	}
	own := v.Version
	if at := slices.IndexFunc(members, func(m api.Member) bool { return m.Self }); at >= 0 {
		own = members[at].Version // which says more of a build without a version
	}
	for i := range members {
		m := &members[i]
		verdict, do := OK, ""
		switch {
		case m.State == "expired":
			verdict, do = Warn, "it does not renew its lease: see whether it runs, and reaches the store"
		case m.Version != own:
			verdict, do = Warn, "it is of another release: finish the upgrade"
		}
		x.add("member "+m.Name, verdict, strings.TrimSpace(m.State+" "+m.Version), do)
	}
}

// mostIll is of how many graphs that are not in order it is told why.
const mostIll = 5

// health tells of graphs that are not as they should be.
func (x *examination) health(ctx context.Context) {
	list, err := x.client.GraphList(ctx)
	if err != nil {
		x.add("graphs", Skip, err.Error(), "give a token that may read them")
		return
	}
	all := list.Items
	for i := range list.Missing {
		m := &list.Missing[i]
		x.add("member "+m.Name, Warn, fmt.Sprintf("it has not told of %s that it runs: %s: %s",
			terminal.Plural(len(m.Graphs), "graph"), m.Code, m.Detail), "see whether it runs, and its log")
	}
	ill := slices.DeleteFunc(slices.Clone(all), func(s api.GraphSummary) bool {
		return s.HealthReason == nil && s.Health != "failed"
	})
	x.add("graphs", OK, fmt.Sprintf("%s, %d of them with something to tell", terminal.Plural(len(all), "graph"),
		len(ill)), "")
	for i := range ill[:min(len(ill), mostIll)] {
		g, why := &ill[i], ill[i].Health
		if r := g.HealthReason; r != nil {
			why += " " + r.Code + ": " + r.Detail
		}
		x.add("graph "+g.Graph, Warn, why, "graphd describe "+g.Graph)
	}
	if n := len(ill) - mostIll; n > 0 {
		x.add("graphs", Warn, fmt.Sprintf("%d more are not in order", n), "graphd get lists them all")
	}
}
