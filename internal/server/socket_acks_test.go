package server

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/graphd/graphd/internal/api"
)

// slowCommit is a Control whose pushes are all answered when one commit has been made.
type slowCommit struct {
	*fake
	made chan struct{}
}

func (s *slowCommit) Submit(context.Context, api.Ref, string, []json.RawMessage) (
	func(context.Context) (api.PushResult, error), error) {
	return func(ctx context.Context) (api.PushResult, error) {
		select {
		case <-s.made:
			return api.PushResult{Accepted: 1, Durable: true}, nil
		case <-ctx.Done():
			return api.PushResult{}, ctx.Err()
		}
	}, nil
}

// M29: what one commit answers leaves together, however long the commit took.
func TestM29AnswersOfOneCommitLeaveTogether(t *testing.T) {
	t.Parallel()
	ctl := &slowCommit{fake: newFake()}
	virtual(t, ctl, Config{}, func(t *testing.T, _ *Server, network *pipes) {
		ctl.made = make(chan struct{}) // of the bubble
		const frames = 50
		ours, _ := network.dial(t, pushURL)
		frame := `{"type":"event","data":1}`
		one := append([]byte{0x81, byte(0x80 | len(frame)), 0, 0, 0, 0}, frame...)
		if _, err := ours.Write(bytes.Repeat(one, frames)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // virtual: by now all are submitted, and the writer waits
		close(ctl.made)
		acks, writes := 0, 0
		for buf := make([]byte, 64<<10); acks < frames; writes++ {
			n, err := ours.Read(buf) // of a pipe: what one write has written
			if err != nil {
				t.Fatal(err)
			}
			acks += bytes.Count(buf[:n], []byte(`"ack"`))
		}
		if writes > 5 {
			t.Errorf("%d answers of one commit left in %d writes", frames, writes)
		}
		_ = ours.Close()
	})
}
