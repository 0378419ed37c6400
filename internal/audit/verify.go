package audit

import (
	"errors"
	"fmt"
)

// ErrBroken says that a chain is not as it was written.
var ErrBroken = errors.New("the audit's chain is broken")

// Verifier follows a chain from its beginning, or from what was removed of it.
type Verifier struct {
	Tenant string
	last   Place
	// first is the number of the first row, and told that of the last one that is said to have been removed.
	first, told int64
	// open says that the beginning is unknown: the first row is believed to follow what it names.
	open bool
}

// Verify begins behind a place, as told by a [Chain]'s Removed.
func Verify(tenant string, behind Place) *Verifier { return &Verifier{Tenant: tenant, last: behind} }

// VerifyOpen begins with whatever row comes first, of a part of a chain.
func VerifyOpen(tenant string) *Verifier { return &Verifier{Tenant: tenant, open: true} }

// Last is the place of the last row that was right.
func (v *Verifier) Last() Place { return v.last }

// Next looks at the next row. The error wraps ErrBroken and says what is wrong where.
func (v *Verifier) Next(r *Row) error {
	if v.open {
		v.open, v.last = false, Place{Seq: r.Seq - 1, Sum: r.Prev}
	}
	broken := func(why string) error {
		return fmt.Errorf("%w: tenant %s, entry %d %s", ErrBroken, v.Tenant, r.Seq, why)
	}
	switch {
	case r.Seq > v.last.Seq+1:
		return broken(fmt.Sprintf("follows entry %d: what was between them is gone", v.last.Seq))
	case r.Seq <= v.last.Seq:
		return broken(fmt.Sprintf("follows entry %d: it is not in its place", v.last.Seq))
	case r.Prev != v.last.Sum:
		return broken("does not follow the entry before it: one of them was put in or replaced")
	case Link(r.Prev, r.Seq, string(r.Body)) != r.Sum:
		return broken("is not what was written")
	}
	e, err := r.Entry()
	switch {
	case err != nil:
		return broken("cannot be read: " + err.Error())
	case e.Tenant != v.Tenant:
		return broken("is of another tenant's chain")
	case r.At != 0 && (r.At != e.At.UnixNano() || r.Subject != e.Subject || r.Graph != e.Graph):
		return broken("is filed under another time, subject or graph than it has")
	}
	v.last = Place{Seq: r.Seq, Sum: r.Sum}
	if v.first == 0 {
		v.first = r.Seq
	}
	if e.Kind == Expired {
		v.told = max(v.told, e.Through)
	}
	return nil
}

// Begins says whether the chain began with its first entry, or one of its entries tells that those before were
// removed by their age: whoever removes them otherwise does not write that down.
func (v *Verifier) Begins() error {
	if v.first > v.told+1 {
		return fmt.Errorf("%w: tenant %s begins with entry %d, and none of its entries tells that those before it "+
			"have become too old", ErrBroken, v.Tenant, v.first)
	}
	return nil
}

// Reaches says whether the chain is whole: whether it has come to its end from where it [Verifier.Begins].
func (v *Verifier) Reaches(head Place) error {
	if v.last != head {
		return fmt.Errorf("%w: tenant %s ends with entry %d, sum %s, and should with entry %d, sum %s", ErrBroken,
			v.Tenant, v.last.Seq, v.last.Sum, head.Seq, head.Sum)
	}
	return v.Begins()
}
