package live

import (
	"testing"
	"time"

	"github.com/graphd/graphd/internal/checkpoint"
)

// M43: of the graphs of an owner that has died all try their next epoch at once; what was tried before and came to
// nothing is tried alone, one after the other.
func TestM43WhatWasTriedBeforeIsTriedAlone(t *testing.T) {
	place := NewGate(1, 0)
	rs, woken := newQueue(4)
	for n, attempts := range []int{1, 2, 0, 0} {
		rs[n].Careful = place
		rs[n].care = newCaution(&checkpoint.Head{Attempts: attempts})
	}
	now := time.Now()
	if !rs[0].turnToTry(now) || rs[1].turnToTry(now) {
		t.Error("two epochs are tried at one time that were tried before")
	}
	if !rs[2].turnToTry(now) || !rs[3].turnToTry(now) {
		t.Error("an epoch that nobody has tried yet waits for others")
	}
	rs[0].giveTurn()
	if !woken(rs[1]) || !rs[1].turnToTry(now) {
		t.Error("the next has not got its turn")
	}
}
