package stall

import (
	"testing"
	"testing/synctest"
	"time"
)

// Where there is always a processor nothing is late.
func TestNothingIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Begin()
		time.Sleep(time.Minute) // virtual
		if late := c.End(); late != 0 {
			t.Errorf("%v too late", late)
		}
	})
}
