package boundary

import (
	"fmt"
	"testing"
)

// Values lent from a loan are all good until it is reset, however many there are; one that is to last is
// made one's own; and tests can see who keeps what was lent.
func TestLoan(t *testing.T) {
	t.Parallel()
	for _, spoil := range []bool{false, true} {
		d, l := NewDecoder(NewShape("a", "b"), Limits{}), &Loan{}
		l.Expect(3)
		for round := range 3 {
			var lent, own []Value
			for i := range 100 {
				v, err := d.LendFrom(l, fmt.Appendf(nil, `{"a":%d,"b":"x%d"}`, i, round))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := d.LendFrom(l, []byte(`{"a":1,`)); err == nil {
					t.Fatal("half a document was taken")
				}
				lent = append(lent, v)
				if i%10 == 0 {
					own = append(own, d.Own(v))
				}
			}
			for i, v := range lent {
				if got, want := v.String(), fmt.Sprintf(`{"a":%d,"b":"x%d"}`, i, round); got != want {
					t.Fatalf("lent: got %s, want %s", got, want)
				}
				if n, _ := v.Field("a").AsInt(); n != int64(i) {
					t.Fatalf("lent: field a of %d is %d", i, n)
				}
			}
			last := lent[len(lent)-1]
			l.Reset(spoil)
			if s, _ := last.Field("b").AsString(); s == fmt.Sprintf("x%d", round) {
				t.Error("what was taken back can still be read")
			}
			for i, v := range own {
				n, _ := v.Field("a").AsInt()
				if s, _ := v.Field("b").AsString(); n != int64(10*i) || s != fmt.Sprintf("x%d", round) {
					t.Errorf("own: %s of %d", v, 10*i)
				}
			}
		}
	}
}
