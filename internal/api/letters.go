package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"time"
	"unicode/utf8"
)

// DeadLetter is what could not be used, with why and from where.
type DeadLetter struct {
	ID          string    `json:"id"` // unique in the graph, sorts by time
	Shard       int       `json:"shard,omitempty"`
	At          time.Time `json:"at"`
	Accumulator string    `json:"accumulator"`
	// Stage is where it failed: "decode", "size", "schema", "time", "where", "emit", "key", "fold",
	// "generate", "guard", "node", "output", "evict" or "sink".
	Stage string `json:"stage"`
	Code  string `json:"code"`
	// Reason is one line for people.
	Reason string `json:"reason"`
	// Epoch is the failed epoch, 0 when it never came to one.
	Epoch int64  `json:"epoch,omitempty"`
	Key   string `json:"key,omitempty"`
	// Position is the event's position, or "first..last" of a folded boundary; "" for pushed events.
	Position string `json:"position,omitempty"`
	// Events is how many events the letter accounts for (M42).
	Events int64 `json:"events"`
	// Folded says that the payload is a boundary's value, and not an event.
	Folded bool `json:"folded,omitempty"`
	// ReplayOf links a letter to the letter it was replayed from.
	ReplayOf string `json:"replay_of,omitempty"`
	// Attempts is how often it was refused, this time included.
	Attempts int64 `json:"attempts"`
	// Output and FiringID are of a value that its sink refused: where it was to go, and under which id.
	Output   string `json:"output,omitempty"`
	FiringID string `json:"firing_id,omitempty"`
	// Payload is JSON where it is JSON, and a string otherwise.
	Payload json.RawMessage `json:"payload"`
	// PayloadEncoding is "json", "text" (Payload is a string) or "base64" (a string of bytes that are not UTF-8).
	PayloadEncoding string `json:"payload_encoding"`
}

// LetterPage is a page of dead letters.
type LetterPage struct {
	Page[DeadLetter]
	// Note says of an empty page what there is in place of what a filter names.
	Note string `json:"note,omitempty"`
}

// Payload is raw as a dead letter shows it, and how: JSON as it is, text as a string, and
// other bytes as a string in base64.
func Payload(raw []byte) (shown json.RawMessage, encoding string) {
	switch {
	case utf8.Valid(raw) && json.Valid(raw):
		return raw, "json"
	case utf8.Valid(raw):
		return text(string(raw)), "text"
	}
	shown, _ = json.Marshal(raw) // bytes always encode
	return shown, "base64"
}

// text is s as JSON, with <, > and & as they are.
func text(s string) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes, and a buffer takes everything
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
}

// LetterChoice says which dead letters are meant: those of which all holds that is said.
type LetterChoice struct {
	Code        string `json:"code,omitempty"`
	Stage       string `json:"stage,omitempty"`
	Accumulator string `json:"accumulator,omitempty"`
	Output      string `json:"output,omitempty"`
	Key         string `json:"key,omitempty"`
	// Since and Until bound when the letters were written: RFC 3339, or a duration back from now.
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
	// Where is an expression over the letter: event, code, stage, at, epoch, key, …
	Where string `json:"where,omitempty"`
}

// LetterQuery pages through dead letters, newest first.
type LetterQuery struct {
	LetterChoice
	Limit  int    // at most this many; 0 means 50, more than 1,000 means 1,000
	Before string // the previous page's cursor; "" starts at the newest
}

// LettersRequest is what is to be done with which dead letters, oldest first.
type LettersRequest struct {
	LetterChoice
	// IDs names the letters, and then nothing else does; All means all there are.
	IDs []string `json:"ids,omitempty"`
	All bool     `json:"all,omitempty"`
	// Limit is how many are dealt with by one request, at most 1,000; 0 means 100.
	Limit int `json:"limit,omitempty"`
	// After is the Next of the answer before.
	After string `json:"after,omitempty"`
	// Preview says what would become of a replay, and replays nothing.
	Preview bool `json:"preview,omitempty"`
}

// LettersResult is what became of dead letters.
type LettersResult struct {
	// Letters is how many were dealt with: the sum of the others.
	Letters int `json:"letters"`
	// Passed were taken, FailedAgain are dead letters again or still, of Waiting the output has not said, and
	// Skipped could not be replayed. Discarded are gone.
	Passed      int `json:"passed"`
	FailedAgain int `json:"failed_again"`
	Waiting     int `json:"waiting"`
	Skipped     int `json:"skipped"`
	Discarded   int `json:"discarded"`
	// Preview says that nothing was done: Passed would pass.
	Preview bool `json:"preview"`
	// Reasons says why the others did not pass.
	Reasons []LetterReason `json:"reasons"`
	// Undecided is how many letters were not chosen since Where could not be computed for them.
	Undecided int `json:"undecided"`
	// Note says what there is in place of what a filter names that has chosen nothing, and what a preview cannot see.
	Note string `json:"note,omitempty"`
	// Next goes on behind the letters that were dealt with; "" at the end.
	Next string `json:"next,omitempty"`
}

// LetterReason is why letters did not pass.
type LetterReason struct {
	// Fate is "failed_again", "waiting" or "skipped".
	Fate    string `json:"fate"`
	Code    string `json:"code"`
	Letters int    `json:"letters"`
	// First is the id of the first of them, Detail what is to be said of it.
	First  string `json:"first"`
	Detail string `json:"detail"`
}

// AddTo adds what became of letters to a sum over several requests.
func (r *LettersResult) AddTo(sum *LettersResult) {
	sum.Letters, sum.Passed, sum.FailedAgain = sum.Letters+r.Letters, sum.Passed+r.Passed, sum.FailedAgain+r.FailedAgain
	sum.Waiting, sum.Skipped = sum.Waiting+r.Waiting, sum.Skipped+r.Skipped
	sum.Discarded, sum.Undecided = sum.Discarded+r.Discarded, sum.Undecided+r.Undecided
	sum.Next, sum.Note = r.Next, cmp.Or(sum.Note, r.Note)
	for i := range r.Reasons {
		sum.Because(&r.Reasons[i])
	}
}

// Because counts a reason in.
func (r *LettersResult) Because(why *LetterReason) {
	for i := range r.Reasons {
		if have := &r.Reasons[i]; have.Fate == why.Fate && have.Code == why.Code {
			have.Letters += why.Letters
			return
		}
	}
	r.Reasons = append(r.Reasons, *why)
}

// Stuck reports whether to go on at once would only wait: something that the letters go to has no room.
func (r *LettersResult) Stuck() bool {
	for i := range r.Reasons {
		if r.Reasons[i].Code == CodeQueueFull {
			return true
		}
	}
	return false
}
