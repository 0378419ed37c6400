package server

import (
	"bufio"
	"crypto/tls"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/certificate"
	"github.com/graphd/graphd/internal/certificate/certtest"
	"github.com/graphd/graphd/internal/server/arrival"
)

// large is what is asked for where an answer must not fit into buffers.
const large = "/openapi.yaml"

// impatient is a server, with TLS and HTTP/2 where an authority is given, that waits for no client for long.
func impatient(t *testing.T, a *certtest.Authority, cfg Config) (addr string) {
	t.Helper()
	if a != nil {
		cert, key := a.Named(t, "0", "").Write(t, t.TempDir())
		k, err := certificate.New(certificate.Config{Cert: cert, Key: key, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		cfg.TLS = k.TLS()
	}
	return strings.TrimPrefix(serve(t, newServer(t, newFake(), cfg)), "http://")
}

// dialRaw connects, and bounds all that the test waits for.
func dialRaw(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.(*net.TCPConn).SetReadBuffer(4 << 10)
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// closedBy says that the server ended a connection, before the test's own patience did.
func closedBy(err error) bool {
	timeout, ok := err.(net.Error)
	return err != nil && !(ok && timeout.Timeout())
}

// TestWhoTakesNoAnswerIsCutOff: a client that asks and takes nothing loses its connection (A12).
func TestWhoTakesNoAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	c := dialRaw(t, impatient(t, nil, Config{Arrivals: arrival.Config{WriteTimeout: 300 * time.Millisecond}}))
	for i := range 10_000 {
		if _, err := io.WriteString(c, "GET "+large+" HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			if !closedBy(err) {
				t.Fatalf("it was not, after %d requests: %v", i, err)
			}
			return
		}
	}
	if _, err := io.Copy(io.Discard, c); !closedBy(err) && err != nil {
		t.Errorf("it was not: %v", err)
	}
}

// TestEachAnswerHasItsTime: the end of one answer is not that of the next on its connection.
func TestEachAnswerHasItsTime(t *testing.T) {
	t.Parallel()
	c := dialRaw(t, impatient(t, nil, Config{Arrivals: arrival.Config{WriteTimeout: 5 * time.Second}}))
	r := bufio.NewReaderSize(c, 512)
	for began := time.Now(); time.Since(began) < 6*time.Second; {
		if _, err := io.WriteString(c, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, res.Body); err != nil || n == 0 {
			t.Errorf("%d bytes, then %v", n, err)
		}
	}
}

// frame is one of HTTP/2.
func frame(kind, flags byte, stream uint32, body []byte) []byte {
	head := []byte{byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body)), kind, flags}
	return append(binary.BigEndian.AppendUint32(head, stream), body...)
}

const (
	frameHeaders, frameReset, frameSettings = 1, 3, 4
	endStream, endHeaders                   = 1, 4
)

// ask is a request for a path of over HTTP/2.
func ask(stream uint32, path string) []byte {
	body := []byte{0x82, 0x87, 0x01, 1, 'x', 0x04, byte(len(path))} // GET, https, its authority
	return frame(frameHeaders, endStream|endHeaders, stream, append(body, path...))
}

// speak begins HTTP/2 with a window of so many bytes for each answer.
func speak(t *testing.T, addr string, a *certtest.Authority, window uint32) net.Conn {
	t.Helper()
	c := tls.Client(dialRaw(t, addr), &tls.Config{RootCAs: a.Pool(), ServerName: "127.0.0.1",
		NextProtos: []string{"h2"}})
	settings := binary.BigEndian.AppendUint32([]byte{0, 4}, window)
	preface := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(frameSettings, 0, 0, settings)...)
	if _, err := c.Write(preface); err != nil {
		t.Fatal(err)
	}
	return c
}

// next reads a frame.
func next(r io.Reader) (kind byte, stream uint32, err error) {
	var head [9]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
	_, err = io.CopyN(io.Discard, r, size)
	return head[3], binary.BigEndian.Uint32(head[5:]) &^ (1 << 31), err
}

// TestZeroWindow: streams whose client opens no window for the answer are reset, and others of the same daemon are
// answered meanwhile (A12).
func TestZeroWindow(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	addr := impatient(t, a, Config{Arrivals: arrival.Config{WriteTimeout: 5 * time.Second}})
	c := speak(t, addr, a, 0)
	const streams = 50
	for i := range uint32(streams) {
		if _, err := c.Write(ask(2*i+1, large)); err != nil {
			t.Fatal(err)
		}
	}
	res, err := overTLS(t, a, true).Get("https://" + addr + "/livez")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	reset := map[uint32]bool{}
	for len(reset) < streams {
		kind, stream, err := next(c)
		if err != nil {
			t.Fatalf("after %d streams were reset: %v", len(reset), err)
		}
		if kind == frameReset {
			reset[stream] = true
		}
	}
}

// TestRapidReset: a client that begins requests and resets them at once holds up nobody, and is stopped (A12).
func TestRapidReset(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	addr := impatient(t, a, Config{Arrivals: arrival.Config{WriteTimeout: 30 * time.Second}})
	c := speak(t, addr, a, 1<<16)
	go func() { _, _ = io.Copy(io.Discard, c) }() // until it is closed
	for i := range uint32(20_000) {
		two := append(ask(2*i+1, large), frame(frameReset, 0, 2*i+1, []byte{0, 0, 0, 8})...)
		if _, err := c.Write(two); err != nil {
			break // it was stopped
		}
	}
	res, err := overTLS(t, a, true).Get("https://" + addr + "/livez")
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(err)
	}
	_ = res.Body.Close()
}

// TestSlowRequests: whoever sends a line, a header, a body or a handshake of TLS too slowly, or nothing at all, is
// closed (A12).
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	a := certtest.New(t)
	cfg := Config{Arrivals: arrival.Config{HeaderTimeout: 200 * time.Millisecond,
		RequestTimeout: 400 * time.Millisecond, IdleTimeout: 200 * time.Millisecond}}
	plain, secure := impatient(t, nil, cfg), impatient(t, a, cfg)
	for name, tt := range map[string]struct{ addr, text string }{
		"nothing": {plain, ""},
		"line":    {plain, "GET /li"},
		"header":  {plain, "GET /livez HTTP/1.1\r\nHost: x\r\nA: b\r\n"},
		"body":    {plain, "POST " + events + " HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n1"},
		"chunks": {plain, "POST " + events + " HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n" +
			"1\r\n"},
		"idle":         {plain, "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"},
		"tls":          {secure, ""},
		"client hello": {secure, "\x16\x03\x01\x02\x00\x01\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := dialRaw(t, tt.addr)
			if _, err := fmt.Fprint(c, tt.text); err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, c); err != nil && !closedBy(err) {
				t.Errorf("it was not closed: %v", err)
			}
		})
	}
}
