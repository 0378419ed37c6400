package api

import "time"

// AwaitingAnswer is the reason of a graph whose next epoch waits for an answer to what a node calls.
const AwaitingAnswer = "awaiting_answer"

// PushResult answers a push. Accepted counts the events that were taken, the filtered ones among them. With Full they
// and those of Rejected are the leading ones of the push; nothing after them was taken.
type PushResult struct {
	Accepted int         `json:"accepted"`
	Filtered int         `json:"filtered"`
	Durable  bool        `json:"durable"`
	Rejected []Rejection `json:"rejected"`
	// Full says that the queue stayed full until the caller's deadline: answer 429.
	Full bool `json:"-"`
	// Why is, beside a full queue, why the store takes nothing; nil when it does.
	Why *Reason `json:"-"`
	// Refused is what the rest is refused with where it is not for want of room, which Full says all the same: some
	// shards have taken theirs.
	Refused *Error `json:"-"`
	// After is when there will be room, where that is known: answer with Retry-After.
	After time.Duration `json:"-"`
	// KeyKept says that the graph's store knows the push by its Idempotency-Key, Known that all of it had been taken
	// before.
	KeyKept, Known bool `json:"-"`
}

// FullCode is what events are refused with that a full queue, a quota or a limit has left no room for.
func (r *PushResult) FullCode() string {
	if r.Why != nil && r.After > 0 {
		return r.Why.Code
	}
	return CodeQueueFull
}

// Rejection is one event of a push that was refused (M5).
type Rejection struct {
	Index  int    `json:"index"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}
