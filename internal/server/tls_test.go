package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/certificate"
	"github.com/graphd/graphd/internal/certificate/certtest"
)

// overTLS is a client that trusts an authority, with HTTP/2 or without.
func overTLS(t *testing.T, a *certtest.Authority, two bool, shows ...tls.Certificate) *http.Client {
	t.Helper()
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool(), Certificates: shows}, ForceAttemptHTTP2: two}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// serveTLS serves with certificates, and says where.
func serveTLS(t *testing.T, s *Server) string {
	t.Helper()
	return "https" + strings.TrimPrefix(serve(t, s), "http")
}

// load asks again and again, and has every right answer taken off steps, until it is told to end. It says how many
// connections that took, without those that the client itself made because it was not sure of the one before: over
// HTTP/1.1 it leaves one whose answer is there before it has seen its own request go out.
func load(t *testing.T, c *http.Client, url string, until <-chan struct{}) (steps chan struct{}, conns *atomic.Int64) {
	t.Helper()
	steps, conns = make(chan struct{}), &atomic.Int64{}
	var kept atomic.Bool // the client had the connection of the request before for the next one
	kept.Store(true)
	trace := httptrace.WithClientTrace(context.WithoutCancel(t.Context()), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) {
			if !i.Reused && kept.Load() {
				conns.Add(1)
			}
			kept.Store(false)
		},
		PutIdleConn: func(err error) { kept.Store(err == nil) }})
	go func() {
		defer close(steps)
		for {
			req, err := http.NewRequestWithContext(trace, "POST", url+events, strings.NewReader("1"))
			if err != nil {
				t.Error(err)
				return
			}
			res, err := c.Do(req)
			if err != nil {
				t.Errorf("a request was lost: %v", err)
				return
			}
			_, err = io.Copy(io.Discard, res.Body)
			if closed := res.Body.Close(); err != nil || closed != nil || res.StatusCode != http.StatusOK {
				t.Errorf("a request is answered with %d, %v", res.StatusCode, err)
				return
			}
			if res.ProtoMajor == 2 || res.Close { // it has it without a word, or the server is about to drop it
				kept.Store(true)
			}
			select {
			case steps <- struct{}{}:
			case <-until:
				return
			}
		}
	}()
	return steps, conns
}

// TestRotation: certificates that are put into the place of others are shown to who comes, and whoever is there,
// requests by HTTP/1.1 and HTTP/2 and sockets, notices nothing.
func TestRotation(t *testing.T) {
	t.Parallel()
	a, dir := certtest.New(t), t.TempDir()
	shown := a.Named(t, "0", "")
	cert, key := shown.Write(t, dir)
	var passed atomic.Int64 // the keeper's clock
	began := time.Now()
	k, err := certificate.New(certificate.Config{Cert: cert, Key: key, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return began.Add(time.Duration(passed.Load())) }})
	if err != nil {
		t.Fatal(err)
	}
	url := serveTLS(t, newServer(t, newFake(), Config{TLS: k.TLS()}))
	ws, _, err := websocket.Dial(t.Context(), "wss"+strings.TrimPrefix(url, "https")+"/v1/ws/events",
		&websocket.DialOptions{Subprotocols: []string{api.Subprotocol}, HTTPClient: overTLS(t, a, true)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	socket := &client{t, ws}
	socket.next() // hello
	until := make(chan struct{})
	steps1, conns1 := load(t, overTLS(t, a, false), url, until)
	steps2, conns2 := load(t, overTLS(t, a, true), url, until)
	t.Cleanup(func() { // before the server ends, whatever the test has found
		close(until)
		for range steps1 { // it is joined
		}
		for range steps2 { // it is joined
		}
	})
	more := func() { // requests that go well
		for range 10 {
			<-steps1
			<-steps2
		}
	}
	more() // they have connected: who comes from now on is the one to look at the files
	for i := range 5 {
		shown = a.Named(t, string(rune('1'+i)), "")
		shown.Write(t, dir)
		passed.Add(int64(time.Second))
		newcomer := overTLS(t, a, i%2 == 0)
		res, err := newcomer.Get(url + "/livez")
		if err != nil {
			t.Fatal(err)
		}
		if got := res.TLS.PeerCertificates[0]; !got.Equal(shown.Cert) || res.ProtoMajor != 2-i%2 {
			t.Errorf("who comes is shown %s over %s, want %s", got.Subject, res.Proto, shown.Cert.Subject)
		}
		_ = res.Body.Close()
		socket.send(`{"type":"subscribe","id":` + string(rune('1'+i)) + `,"topics":["health"]}`)
		socket.next()
		more()
	}
	if conns1.Load() != 1 || conns2.Load() != 1 {
		t.Errorf("%d and %d connections: one was dropped", conns1.Load(), conns2.Load())
	}
}

// TestWarnings: health tells what is to be looked after, and is well nevertheless.
func TestWarnings(t *testing.T) {
	t.Parallel()
	s := newServer(t, newFake(), Config{Warnings: func() []api.Warning {
		return []api.Warning{{Code: api.WarnCertificateEnds, Detail: "soon"}}
	}})
	for _, path := range []string{"/readyz", "/healthz"} {
		x := do(t, s, "GET", path, nil)
		var st api.Status
		if err := json.Unmarshal(x.body, &st); err != nil || x.status != http.StatusOK || len(st.Warnings) != 1 {
			t.Errorf("%s is answered with %d %s", path, x.status, x.body)
		}
	}
}
