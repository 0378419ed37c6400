package sink

// Announced is a sink that is told of what an outbox has for it before it is delivered, so that others may read it
// there.
type Announced interface {
	Sink
	// Committed is told what a commit has put into the outbox, in order. It must not block.
	Committed(batch []Message)
}
