// Package failpoint ends the process at a named moment, as a power cut would. The kill tests
// arm it in the real binary through the environment; otherwise a [Set] is nil, and a point
// costs a comparison.
//
// The points are "decode" (events are about to be folded), "admit" (handoffs were admitted),
// "cut" (epochs have ended in memory), "commit_sent" and "commit_acknowledged" (around a
// checkpoint), "journal_sent" and "journal_acknowledged" (around an append), "replay" (an entry of
// the journal is about to be replayed), "outbox_send" and "outbox_sent" (around a delivery),
// "offset_mirror" (positions are in a checkpoint, and about to be told to the source), "redeal_taken" (a shard was
// taken to deal its keys anew), "redeal_dealt" and "redeal_stored" (around the change that does).
package failpoint

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
)

// Env names the environment variable that arms a point: NAME:N ends the process when NAME is
// met for the N-th time.
const Env = "GRAPHD_FAILPOINT"

// Set is the point that is armed. A nil Set is none. Safe for concurrent use.
type Set struct {
	name string
	left atomic.Int64
	die  func()
}

// FromEnv is the set that the environment arms, nil when it arms none.
func FromEnv(lookup func(string) (string, bool)) (*Set, error) {
	text, ok := lookup(Env)
	if !ok || text == "" {
		return nil, nil
	}
	name, count, _ := strings.Cut(text, ":")
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%s is %q; write NAME:N", Env, text)
	}
	s := &Set{name: name, die: die}
	s.left.Store(n)
	return s, nil
}

// Hit ends the process when the point of that name is armed and has been met often enough.
func (s *Set) Hit(name string) {
	if s != nil && s.name == name && s.left.Add(-1) == 0 {
		s.die()
	}
}

// die kills the process: nothing is flushed, closed or deferred.
func die() {
	if p, err := os.FindProcess(os.Getpid()); err == nil {
		_ = p.Kill()
	}
	select {} // the kill takes a moment in which nothing more may happen
}
