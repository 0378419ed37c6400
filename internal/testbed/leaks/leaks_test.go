package leaks

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// What ends late is none, and what stays is one.
func TestLateIsNoLeak(t *testing.T) {
	before := goleak.IgnoreCurrent()
	go func() { <-time.After(time.Second) }() // longer than goleak looks by itself
	None(t, before)
	stay := make(chan struct{})
	go func() { <-stay }()
	if err := find(time.Millisecond, before); err == nil {
		t.Error("a goroutine that stays is not seen")
	}
	close(stay)
	None(t, before)
}
