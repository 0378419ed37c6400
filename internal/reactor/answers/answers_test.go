package answers

import (
	"fmt"
	"testing"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kind"
)

func asking(id byte) []Ask { return []Ask{{Node: 1, ID: kind.RequestID{id}}} }

// An answer goes to all that ask for it, once, and to nobody else; what it weighs goes with them.
func TestAnswersGoToWhoAsks(t *testing.T) {
	t.Parallel()
	b, id := &Book{}, kind.RequestID{1}
	next, other, command := b.Open("k", nil), b.Open("l", nil), &Epoch{}
	b.Command(command, "k")
	b.Command(command, "k")
	empty := b.Weigh()
	next.Asked, other.Asked, command.Asked = asking(1), asking(1), asking(1)
	if b.Answer("k", 1, kind.RequestID{2}, &kind.Answer{}) || b.Answer("k", 2, id, &kind.Answer{}) ||
		b.Answer("m", 1, id, &kind.Answer{}) {
		t.Error("an answer that nobody asks for is taken")
	}
	answer := &kind.Answer{Body: make([]byte, 1000)}
	if !b.Wanted("k", 1, id) || !b.Answer("k", 1, id, answer) || b.Wanted("k", 1, id) || !b.Wanted("l", 1, id) {
		t.Error("an answer is not taken, or by another key")
	}
	if b.Answer("k", 1, id, answer) || len(next.Replies) != 1 || next.Find(1, id).Answer != answer ||
		command.Find(1, id).Answer != answer || other.Find(1, id) != nil {
		t.Errorf("%d, %d and %d answers", len(next.Replies), len(command.Replies), len(other.Replies))
	}
	if got := b.Weigh() - empty; got < 2000 || got > 3000 {
		t.Errorf("two answers of 1,000 bytes weigh %d", got)
	}
	b.End(command)
	b.End(command)
	b.Forget("k")
	b.Forget("k")
	b.Forget("l")
	if b.Weigh() != 0 || b.Keys() != 0 || b.Next("k") != nil {
		t.Errorf("%d bytes of %d keys are left", b.Weigh(), b.Keys())
	}
}

// A book knows of so many keys; the one that is to be kept is kept.
func TestABookIsBounded(t *testing.T) {
	t.Parallel()
	b := &Book{}
	keep := b.Open("first", nil)
	for n := range 2 * mostKeys {
		b.Open(boundary.Key(fmt.Sprint(n)), keep)
	}
	if b.Keys() > mostKeys || b.Next("first") != keep || keep.Key() != "first" {
		t.Errorf("it knows of %d keys", b.Keys())
	}
	large := &kind.Answer{Body: make([]byte, mostHeld)}
	b.Add(keep, Reply{Answer: large})
	if !b.Full() {
		t.Error("it is not full")
	}
	b.Keep(func(e *Epoch) bool { return e != keep })
	if b.Full() || b.Next("first") != nil {
		t.Error("what is not kept is there")
	}
}
