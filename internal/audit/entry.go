package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Daemon is the chain of what belongs to no tenant: what is the daemon's, and callers that nobody knows. No
// tenant can have this name.
const Daemon = "*"

// Kind is what an entry tells of.
type Kind string

// The kinds. An intent without a result says that it is not known whether the change took effect.
const (
	Intent Kind = "intent"
	Result Kind = "result"
	Denied Kind = "denied"
	// Expired tells that entries are removed because they have become too old. It is written before they are.
	Expired Kind = "expired"
)

// The outcomes of a result. After Failed something of the change may have taken effect.
const (
	OK      = "ok"
	Refused = "refused"
	Failed  = "failed"
)

// Entry is one record. It is written as JSON, and what is written is what the chain holds.
type Entry struct {
	Kind   Kind      `json:"kind"`
	At     time.Time `json:"at"`
	Tenant string    `json:"tenant"`
	Actor
	// Operation is what was to be done, and Graph to which, "" for none.
	Operation string `json:"operation"`
	Graph     string `json:"graph,omitempty"`
	// Of is the number of the intent that a result is of.
	Of      int64  `json:"of,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	// Code is why, of what was refused, has failed or was denied.
	Code string `json:"code,omitempty"`
	// Count is how many denials the entry stands for.
	Count int64 `json:"count,omitempty"`
	// Through is the number of the last entry that is removed, of an Expired.
	Through int64    `json:"through,omitempty"`
	Detail  []string `json:"detail,omitempty"`
}

// Actor is who does something. The zero value is the program itself.
type Actor struct {
	// Subject is the name of the token, and Token its id.
	Subject string `json:"subject,omitempty"`
	Token   string `json:"token,omitempty"`
	Role    string `json:"role,omitempty"`
	// From is the address of the other end of the connection, or the file a declaration came from.
	From string `json:"from,omitempty"`
	// Tenant is whose chain it goes to.
	Tenant string `json:"-"`
}

const (
	// maxDetail and maxLine bound the details of an entry, in lines and in bytes of one.
	maxDetail, maxLine = 100, 300
	// maxField bounds the other texts.
	maxField = 400
	// maxBody bounds all of it as it is written: what MaxRows rows take is bounded by that.
	maxBody = 32 << 10
)

// Body is the entry as it is written, within its bounds. Its columns are made of it: of a text that a caller has
// chosen the zero byte is left out, which PostgreSQL refuses.
func (e *Entry) Body() (string, error) {
	bounded := *e
	bounded.At = e.At.UTC()
	for _, text := range []*string{&bounded.Subject, &bounded.Token, &bounded.Role, &bounded.From, &bounded.Operation,
		&bounded.Graph, &bounded.Code} {
		*text = clip(strings.ReplaceAll(*text, "\x00", ""), maxField)
	}
	for most := maxDetail; ; most /= 2 { // what is escaped is up to six times as long
		bounded.Detail = nil
		for i, line := range e.Detail {
			if i == most {
				bounded.Detail = append(bounded.Detail, fmt.Sprintf("%d more", len(e.Detail)-most))
				break
			}
			bounded.Detail = append(bounded.Detail, clip(line, maxLine))
		}
		body, err := json.Marshal(&bounded)
		if err != nil {
			return "", fmt.Errorf("encode an audit entry: %w", err)
		}
		if len(body) <= maxBody || most == 0 {
			return string(body), nil
		}
	}
}

func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Sum is the digest of an entry and of all before it. The zero Sum stands before the first.
type Sum [sha256.Size]byte

// String is the sum in hexadecimal digits.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// MarshalText implements [encoding.TextMarshaler].
func (s Sum) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (s *Sum) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err != nil || len(raw) != len(s) {
		return fmt.Errorf("%q is no sum: it has 64 hexadecimal digits", clip(string(text), 2*sha256.Size))
	}
	*s = Sum(raw)
	return nil
}

// Link is the sum of an entry: of the one before, its number and its body. A database may compute it.
func Link(prev Sum, seq int64, body string) Sum {
	text := make([]byte, 0, len(prev)+8+len(body))
	text = append(text, prev[:]...)
	text = binary.BigEndian.AppendUint64(text, uint64(seq))
	return sha256.Sum256(append(text, body...))
}

// Row is an entry in its chain, as it is stored, told and exported.
type Row struct {
	Seq  int64 `json:"seq"` // from 1
	Prev Sum   `json:"prev"`
	Sum  Sum   `json:"sum"`
	// Body is the entry, byte for byte.
	Body json.RawMessage `json:"entry"`
	// At, Subject and Graph are what it is found by in a store; they repeat what is in the body. Elsewhere they
	// are zero.
	At             int64  `json:"-"`
	Subject, Graph string `json:"-"`
}

// Entry is what the row holds.
func (r *Row) Entry() (e Entry, err error) {
	if err := json.Unmarshal(r.Body, &e); err != nil {
		return e, fmt.Errorf("read audit entry %d: %w", r.Seq, err)
	}
	return e, nil
}

// Place is an entry's place in a chain with its sum; the zero Place stands before the first.
type Place struct {
	Seq int64 `json:"seq"`
	Sum Sum   `json:"sum"`
}

// Chain is a tenant's chain: where it ends, and the last entry that was removed from its beginning.
type Chain struct {
	Tenant  string `json:"tenant"`
	Head    Place  `json:"head"`
	Removed Place  `json:"removed"`
}

// Query chooses entries of one chain. What is zero in it chooses all.
type Query struct {
	Tenant         string
	After          int64
	Since          time.Time
	Subject, Graph string
	// Limit is how many there are at most; MaxRows where it is 0.
	Limit int
}

// MaxRows is how many rows one answer holds: 4 MiB at most.
const MaxRows = 128
