package reactor

import (
	"strings"
	"testing"
)

// M32: a record tells an input of which nothing has come from one of which a null has.
func TestM32RecordsTellAbsentFromNull(t *testing.T) {
	r := newRig(t, graphOf(two, "{ when: any }", pair))
	r.push("a", nil)
	r.fire()
	text := string(r.c.cfg.AppendRecord(nil, r.last()))
	if !strings.Contains(text, `"cut":{"a":{"taken":true,"events":1,"position":"a@1"},"b":{"taken":false,`+
		`"events":0,"position":"","absent":true}}`) || !strings.Contains(text, `"inputs":{"a":null,"b":null}`) {
		t.Fatal(text)
	}
}
