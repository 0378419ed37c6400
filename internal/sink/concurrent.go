package sink

// Concurrent is a sink that may deliver several messages at once, each by itself. Its Deliver is given one message and
// is called by several goroutines; Lane and Close are called by one.
type Concurrent interface {
	Singly
	// Concurrency is how many deliveries may be on their way at once, AtOnce how many of them may just now, at least 1.
	// Up to 1 they go one after the other, in their order.
	Concurrency() int
	AtOnce() int
	// Lane is what has its order: a message is delivered after all of its lane that came before it. Messages whose
	// lane cannot be told are one lane; Deliver then says what is wrong with them.
	Lane(m *Message) string
}
