package stall

import (
	"testing"
	"testing/synctest"
	"time"
)

// Where there is always a processor nothing is late, and what is promised is the promise itself.
func TestNothingIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Begin()
		time.Sleep(time.Minute) // virtual
		if k := c.End(); k.Late != 0 || k.Real != time.Minute || k.Allowed(time.Second) != time.Second {
			t.Errorf("%+v: a second is %v", k, k.Allowed(time.Second))
		}
	})
}

// A promise is longer by what a machine keeps others waiting, and never more than ten times as long.
func TestAllowedIsBounded(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]time.Duration{ // for two seconds
		0:               2 * time.Second,
		time.Second:     5 * time.Second,
		5 * time.Second: 17 * time.Second,
		6 * time.Second: 20 * time.Second,
		time.Hour:       20 * time.Second,
	} {
		if got := (Took{Real: time.Hour, Late: late}).Allowed(2 * time.Second); got != want {
			t.Errorf("%v late: two seconds are %v, want %v", late, got, want)
		}
	}
}
