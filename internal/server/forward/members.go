package forward

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/checkpoint"
	"github.com/graphd/graphd/internal/graphrun/parts"
	"github.com/graphd/graphd/internal/server/arrival"
)

const (
	// maxConns bounds the connections of other members, of which WebSockets take one each, maxStreams the requests
	// under way on one, and those that this one has under way at each.
	maxConns   = 64 + 4*maxSockets
	maxStreams = 256
	// dialTime and helloTime bound how long it takes to find a member gone; silence and pong, those of a
	// connection, to find one that hangs.
	dialTime  = time.Second
	helloTime = 2 * time.Second
	silence   = 2 * time.Second
	pong      = 2 * time.Second
	// idleTime is after how long a connection that nobody needs is closed.
	idleTime = 2 * time.Minute
	// maxPeers bounds the members that are remembered; a store has fewer.
	maxPeers = 256
)

// Members forwards requests to other members, and takes theirs. Safe for concurrent use.
type Members struct {
	daemon Daemon
	log    *slog.Logger
	secret []byte
	ln     net.Listener
	tls    *tls.Config // after Join

	out, in atomic.Int64 // requests so far
	open    atomic.Int64 // under way

	life context.Context // until CloseSockets
	end  context.CancelFunc

	mu    sync.Mutex
	peers map[string]*peer // by member
}

// peer is another member.
type peer struct {
	address string
	via     *http.Transport
	room    chan struct{}
	// upgraded is for WebSockets, which take HTTP/1.1.
	upgraded *http.Transport
	sockets  chan struct{}
}

// Listen reads the secret, which stands in a file, and takes the address; nil where neither is given. at is where
// others reach it: with the host of advertise where the address has none.
func Listen(ctx context.Context, address, file, advertise string, log *slog.Logger) (m *Members, at string, err error) {
	if address == "" && file == "" {
		return nil, "", nil
	}
	if address == "" || file == "" {
		return nil, "", errors.New("--member-listen and --member-secret take each other")
	}
	secret, err := readSecret(file)
	if err != nil {
		return nil, "", fmt.Errorf("the members' secret: %w", err)
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, "", fmt.Errorf("listen for other members on %s: %w", address, err)
	}
	if at, err = told(address, advertise, ln.Addr()); err != nil {
		return nil, "", errors.Join(err, ln.Close())
	}
	m = &Members{log: log, secret: secret, ln: arrival.Listen(ln, arrival.Bounds{All: maxConns}, nil),
		peers: map[string]*peer{}}
	m.life, m.end = context.WithCancel(context.WithoutCancel(ctx))
	return m, at, nil
}

// told is where others are to reach the listener.
func told(listen, advertise string, at net.Addr) (string, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return "", fmt.Errorf("--member-listen %q: %w; write host:port", listen, err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		if host, _, err = net.SplitHostPort(advertise); err != nil || host == "" {
			return "", fmt.Errorf("--member-listen %s names no host that other members could call: write its address, "+
				"or give --advertise", listen)
		}
	}
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return "", fmt.Errorf("the address of the listener: %w", err)
	}
	return net.JoinHostPort(host, port), nil
}

// Close gives the address back where Serve was never called.
func (m *Members) Close() error {
	if m == nil {
		return nil
	}
	return m.ln.Close()
}

// Daemon is what a member is asked for by others, and knows of them. *engine.Engine implements it.
type Daemon interface {
	// Elsewhere is the other member that runs a graph; false where none is known to, or it cannot be reached.
	Elsewhere(g api.Ref) (checkpoint.Member, bool)
	// AskPart does what another member asks of shards that run here.
	AskPart(ctx context.Context, call *parts.Call) *parts.Answer
	// WatchPart subscribes another member to shards that run here.
	WatchPart(ctx context.Context, call *parts.Call) (*parts.Answer, parts.Frames)
}

// Join makes this daemon the member of that id. It is called before all that follows.
func (m *Members) Join(self string, d Daemon) (err error) {
	if m == nil {
		return nil
	}
	m.daemon = d
	m.tls, err = identity(m.secret, self)
	return err
}

// Server takes requests of other members, which handler takes by [Taken]. It is for [Members.Listener].
func (m *Members) Server(handler http.Handler, log *slog.Logger, header, read time.Duration) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	protocols.SetHTTP1(true) // for WebSockets
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			m.in.Add(1)
			switch r.URL.Path {
			case partsPath:
				m.answerParts(w, r)
				return
			case watchPath:
				m.answerWatch(w, r)
				return
			}
			handler.ServeHTTP(w, r)
		}),
		Protocols: protocols, TLSConfig: m.tls.Clone(), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: maxStreams},
		ReadHeaderTimeout: header, ReadTimeout: read, IdleTimeout: idleTime, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// Listener is where other members connect.
func (m *Members) Listener() net.Listener { return m.ln }

// Stats are how many requests were forwarded and taken, and how many that this one has forwarded are under way.
func (m *Members) Stats() (out, in, open int64) {
	if m == nil {
		return 0, 0, 0
	}
	return m.out.Load(), m.in.Load(), m.open.Load()
}

// Limits are the bounds of what is forwarded; none where nothing is.
func (m *Members) Limits() []api.Limit {
	if m == nil {
		return nil
	}
	return []api.Limit{{Name: "forwarded_requests", Limit: maxStreams, Used: new(m.open.Load()),
		Unit: "requests to one other member; used: to all"}}
}

// to is a member as it is reached. One that is reached elsewhere now is another process's.
func (m *Members) to(o *checkpoint.Member) *peer {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[o.ID]
	if p != nil && p.address == o.Peer {
		return p
	}
	if len(m.peers) >= maxPeers { // of processes that have gone
		for id, old := range m.peers {
			old.via.CloseIdleConnections()
			old.upgraded.CloseIdleConnections()
			delete(m.peers, id)
		}
	}
	client := m.tls.Clone()
	client.VerifyConnection = isMember(o.ID)
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	p = &peer{address: o.Peer, room: make(chan struct{}, maxStreams), sockets: make(chan struct{}, maxSockets)}
	p.via = transport(client, protocols)
	p.via.HTTP2 = &http.HTTP2Config{SendPingTimeout: silence, PingTimeout: pong, WriteByteTimeout: silence + pong}
	old := new(http.Protocols)
	old.SetHTTP1(true)
	client = client.Clone()
	client.NextProtos = []string{"http/1.1"}
	p.upgraded = transport(client, old)
	m.peers[o.ID] = p
	return p
}

func transport(client *tls.Config, protocols *http.Protocols) *http.Transport {
	return &http.Transport{
		DialContext:     (&net.Dialer{Timeout: dialTime}).DialContext,
		TLSClientConfig: client, TLSHandshakeTimeout: helloTime, Protocols: protocols, DisableCompression: true,
		IdleConnTimeout: idleTime, MaxResponseHeaderBytes: 64 << 10,
	}
}

// CloseIdle closes what is open to other members and not in use.
func (m *Members) CloseIdle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.peers {
		p.via.CloseIdleConnections()
		p.upgraded.CloseIdleConnections()
	}
}

// caller is whom a forwarded request acts as, as it goes over the wire.
type caller struct {
	Tenant  string   `json:"tenant"`
	Subject string   `json:"subject"`
	Role    string   `json:"role"`
	Token   string   `json:"token,omitempty"`
	Graphs  []string `json:"graphs,omitempty"`
	Reading bool     `json:"reading,omitempty"`
	Vouched bool     `json:"vouched,omitempty"`
	From    string   `json:"from"`
}

func callerOf(who *access.Principal, from string) caller {
	c := caller{Tenant: who.Tenant, Subject: who.Subject, Token: who.Token, Graphs: who.Scope.Graphs,
		Reading: who.Scope.Reading, Vouched: who.Holds != nil, From: from}
	if who.Role != access.NoRole {
		c.Role = who.Role.String()
	}
	return c
}

func (c *caller) principal() access.Principal {
	role, _ := access.ParseRole(c.Role) // none of an unknown one, which may do nothing
	who := access.Principal{Tenant: c.Tenant, Subject: c.Subject, Role: role, Token: c.Token,
		Scope: access.Scope{Graphs: c.Graphs, Reading: c.Reading}}
	if c.Vouched {
		who.Holds = func(time.Time) bool { return true } // as the member has found that has let it in
	}
	return who
}

func called(o *checkpoint.Member) string { return cmp.Or(o.Name, o.ID) }
