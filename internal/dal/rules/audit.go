package rules

import (
	"fmt"

	"github.com/graphd/graphd/internal/audit"
	"github.com/graphd/graphd/internal/checkpoint"
)

// AuditColumns are the columns of an entry of the audit as they are read.
const AuditColumns = "seq, prev, sum, body, at, subject, graph"

// AuditSince is a query's Since.
func AuditSince(q *audit.Query) int64 {
	if q.Since.IsZero() {
		return 0
	}
	return Nanos(q.Since)
}

// AuditLimit is how many entries a query is answered with at most.
func AuditLimit(q *audit.Query) int64 {
	if q.Limit <= 0 || q.Limit > audit.MaxRows {
		return audit.MaxRows
	}
	return int64(q.Limit)
}

// AuditMeans says whether a query means a row.
func AuditMeans(q *audit.Query, r *audit.Row) bool {
	return r.Seq > q.After && r.At >= AuditSince(q) && (q.Subject == "" || q.Subject == r.Subject) &&
		(q.Graph == "" || q.Graph == r.Graph)
}

// AuditEntry is what stands in the columns of a new entry, and its body.
func AuditEntry(e *audit.Entry) (r audit.Row, err error) {
	e.At = Instant(e.At)
	body, err := e.Body()
	if err != nil {
		return r, err
	}
	r.Body = []byte(body)
	kept, err := r.Entry() // within the bounds of an entry
	r.At, r.Subject, r.Graph = Nanos(kept.At), kept.Subject, kept.Graph
	return r, err
}

// AuditSum reads a sum of a store.
func AuditSum(raw []byte) (s audit.Sum, err error) {
	if len(raw) != len(s) {
		return s, fmt.Errorf("%w: a sum of the audit has %d bytes", checkpoint.ErrCorrupt, len(raw))
	}
	return audit.Sum(raw), nil
}

// AuditRow puts the sums of a row that was read into it.
func AuditRow(r *audit.Row, prev, sum []byte) (err error) {
	if r.Prev, err = AuditSum(prev); err == nil {
		r.Sum, err = AuditSum(sum)
	}
	return err
}
