package faults

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// pusher pushes events of its own numbers, one at a time, and knows which of them were acknowledged
// as durable.
type pusher struct {
	p     *process
	next  int64
	acked []int64
	conn  *websocket.Conn // nil for REST
}

// errNotDurable is the refusal of a push whose journal cannot be written.
var errNotDurable = errors.New("not_durable")

// push sends the next event. The answer is an acknowledgement or a refusal that says why.
func (u *pusher) push() error {
	u.p.t.Helper()
	n := u.next
	u.next++
	event, send := fmt.Sprintf(`{"n":%d,"pad":%q}`, n, strings.Repeat("x", 1000)), u.rest
	if u.conn != nil {
		send = u.socket
	}
	answer, err := send(event)
	switch {
	case err != nil:
		u.p.t.Fatalf("event %d: %v\n%s", n, err, u.p.log)
	case strings.Contains(answer, `"not_durable"`) && strings.Contains(answer, "full"):
		return errNotDurable
	case !strings.Contains(answer, `"durable":true`) || !strings.Contains(answer, `"accepted":1`):
		u.p.t.Fatalf("event %d: %s", n, answer)
	}
	u.acked = append(u.acked, n)
	return nil
}

func (u *pusher) rest(event string) (string, error) {
	var answer json.RawMessage
	err := u.p.do("POST", "/v1/graphs/kept/accumulators/a/events", event, &answer)
	if err != nil && strings.Contains(err.Error(), "503") {
		return err.Error(), nil
	}
	return string(answer), err
}

func (u *pusher) socket(event string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), stuck)
	defer cancel()
	frame := fmt.Appendf(nil, `{"type":"event","data":%s}`, event)
	if err := u.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return "", err
	}
	for {
		_, data, err := u.conn.Read(ctx)
		if err != nil || !strings.Contains(string(data), `"hello"`) {
			return string(data), err
		}
	}
}

// M29: while the disk of a journaled graph's store is full, each push over REST and WebSocket is
// answered within --push-timeout, with the reason, and so says the graph's health. Once there is
// room, pushes are durable again without a restart. Nothing that was acknowledged is lost, also
// when the process is killed while the disk is full.
func TestM29FullDiskUnderPushes(t *testing.T) {
	const pushTimeout = 2 * time.Second
	disk, dir := mountSmall(t, "16m"), t.TempDir()
	run := func() *process {
		return start(t, dir, "--files-dir", dir, "--store", "sqlite:"+filepath.Join(disk.dir, "graphd.db"),
			"--push-timeout", pushTimeout.String())
	}
	p, by := run(), beside(t)
	out := filepath.Join(dir, "out.ndjson")
	apply(t, p, "kept", fmt.Sprintf(`{"graph":"kept","accumulators":{"a":{"strategy":"sequential"}},`+
		`"outputs":{"o":{"from":"a","sink":{"file":{"path":%q}}}},`+
		`"durability":{"mode":"journal","interval":"200ms"}}`, out))
	conn, err := dialPush(p, "kept", "a")
	if err != nil {
		t.Fatal(err)
	}
	pushers := []*pusher{{p: p}, {p: p, next: 1_000_000, conn: conn}}
	for _, u := range pushers {
		for range 50 {
			if err := u.push(); err != nil {
				t.Fatal(err)
			}
		}
	}
	refused := func(times int) {
		t.Helper()
		for _, u := range pushers {
			for n := 0; n < times; {
				by.anew()
				began := time.Now()
				err := u.push() // the store's files may have some room left
				by.kept(t, "a push is answered", time.Since(began), pushTimeout+time.Second)
				if err != nil {
					n++
				}
			}
		}
	}
	disk.fill()
	refused(2)
	if s := p.summary("kept"); s.Health != "degraded" || s.HealthReason.Code != "checkpoint_failing" ||
		!strings.Contains(s.HealthReason.Detail, "full") {
		t.Errorf("%s %+v", s.Health, s.HealthReason)
	}
	disk.free()
	p.until("it is live", stuck, func() bool { return p.summary("kept").Health == "live" })
	for _, u := range pushers {
		for range 50 {
			if err := u.push(); err != nil {
				t.Fatalf("there is room again: %v", err)
			}
		}
	}
	disk.fill()
	refused(1)
	conn.CloseNow()
	p.kill()
	disk.free()
	p = run()
	p.until("it is live again", stuck, func() bool { return p.summary("kept").Health == "live" })
	if err := p.do("POST", "/v1/graphs/kept/drain", "", nil); err != nil {
		t.Fatal(err)
	}
	if s := p.summary("kept"); s.balanced() != nil {
		t.Error(s.balanced())
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
	there := map[int64]bool{}
	for _, n := range numbersOf(t, out) {
		there[n] = true
	}
	for _, u := range pushers {
		for _, n := range u.acked {
			if !there[n] {
				t.Errorf("event %d was acknowledged as durable and is lost", n)
			}
		}
		t.Logf("%d events, %d acknowledged", u.next%1_000_000, len(u.acked))
	}
}
