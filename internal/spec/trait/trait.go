// Package trait is what a kind of source, sink or accumulator says of itself to those who must
// not know its name: the checks of a declaration, the engine's wiring and the sentences about
// guarantees. An [Origin] is of sources, a [Target] of sinks, a [Folding] of accumulators. The
// first two have constructors that ask for everything there is to say.
//
// A new kind picks among what is here. Where nothing fits, the trait that is missing is added
// here, and those who ask for it are changed; nobody asks for a kind's name.
package trait

// After says what a crash does to what a source gave after the last checkpoint.
type After uint8

const (
	// Lost is when it is gone, as what was pushed is.
	Lost After = iota
	// Again is when the source goes back to its position and gives it again.
	Again
	// Anew is when the source asks again, and gives what is there then.
	Anew
	// Compared is when the source asks again, and compares what is there with what its position knows
	// of what it gave.
	Compared
)

// Origin is where a source's events come from. The zero Origin is the socket alone.
type Origin struct {
	pulls, foreign bool
	partitioned    bool
	after          After
	graph, output  string
	follows        bool
}

// Socket is a source that is nothing but the accumulator's own socket: what is pushed.
func Socket() Origin { return Origin{} }

// Outside is a source that reads what others write, so that a schema has something to check.
func Outside(after After) Origin { return Origin{pulls: true, foreign: true, after: after} }

// Partitioned is one Outside whose streams are partitions of topics, named topic/number, which may have been dealt by
// the keys of what is in them.
func Partitioned(after After) Origin {
	return Origin{pulls: true, foreign: true, partitioned: true, after: after}
}

// Made is a source whose events are made by the declaration itself.
func Made(after After) Origin { return Origin{pulls: true, after: after} }

// FromGraph is the output of another graph of the daemon, which hands its values over: the
// engine makes such a source.
func FromGraph(graph, output string) Origin { return Origin{pulls: true, graph: graph, output: output} }

// Followed is the output of another graph of the daemon whose values that graph keeps until they are durable here: the
// engine makes such a source, which reads them in their order.
func Followed(graph, output string) Origin {
	return Origin{pulls: true, after: Again, graph: graph, output: output, follows: true}
}

// Pulls reports whether the source is more than the accumulator's own socket.
func (o Origin) Pulls() bool { return o.pulls }

// Foreign reports whether the source reads what others write.
func (o Origin) Foreign() bool { return o.foreign }

// Partitioned reports whether the source's streams are partitions that may have been dealt by key.
func (o Origin) Partitioned() bool { return o.partitioned }

// After says what a crash does to what the source gave after the last checkpoint.
func (o Origin) After() After { return o.after }

// Follows reports whether the source is [Followed].
func (o Origin) Follows() bool { return o.follows }

// Graph is the graph and the output that feed the source; ok is false when none does.
func (o Origin) Graph() (graph, output string, ok bool) { return o.graph, o.output, o.graph != "" }

// Outbox says whether a sink's values can or must be committed before they are delivered (M30).
type Outbox uint8

const (
	// NoOutbox is of a sink that takes what it is given and answers nothing, so that there
	// is nothing to deliver again.
	NoOutbox Outbox = iota
	// MayOutbox is where the declaration asks for it.
	MayOutbox
	// OwnOutbox is always, unless the values are rows of the commit itself.
	OwnOutbox
)

// Target is where a sink's values go. The zero Target is that of no sink.
type Target struct {
	outbox                Outbox
	delivers, calls, drop bool
	file                  string
	graph, accumulator    string
	followers             bool
	// promise ends the sentence on what a user may rely on; stored does with an outbox.
	promise, stored string
}

// Nowhere is a sink that throws values away; promise says so, as the end of a sentence.
func Nowhere(promise string) Target { return Target{drop: true, promise: promise} }

// Watched is a sink for which watchers are all there is, who see every output anyway.
func Watched(promise string) Target { return Target{promise: promise} }

// Printed is a sink that writes to a stream of the daemon's own.
func Printed() Target { return Target{delivers: true} }

// Appended is a sink that appends to a file.
func Appended(path string) Target { return Target{delivers: true, outbox: MayOutbox, file: path} }

// Called is a sink that calls something which may be away or slow. caveat is what has to be
// added to the sentence on delivery, "" for nothing.
func Called(outbox Outbox, caveat string) Target {
	return Target{delivers: true, calls: true, outbox: outbox, promise: caveat, stored: caveat}
}

// ToGraph is an accumulator of another graph of the daemon: the engine makes such a sink.
// direct and stored are what a user may rely on without and with an outbox.
func ToGraph(graph, accumulator, direct, stored string) Target {
	return Target{
		delivers: true, outbox: MayOutbox, graph: graph, accumulator: accumulator, promise: direct, stored: stored,
	}
}

// ToFollowers is the graphs of the daemon that follow the output, whichever they are: the engine makes such a sink.
// promise says what a user may rely on.
func ToFollowers(promise string) Target {
	return Target{delivers: true, outbox: OwnOutbox, followers: true, promise: promise}
}

// Followers reports whether the values are for the graphs that follow the output.
func (t Target) Followers() bool { return t.followers }

// Delivers reports whether there is a sink that values are handed to.
func (t Target) Delivers() bool { return t.delivers }

// Calls reports whether one try of a delivery can take long.
func (t Target) Calls() bool { return t.calls }

// Drops reports whether nobody is meant to see the values.
func (t Target) Drops() bool { return t.drop }

// Outbox says whether values can or must be committed first.
func (t Target) Outbox() Outbox { return t.outbox }

// File is the path of the file that is appended to, "" for none.
func (t Target) File() string { return t.file }

// Graph is the graph and the accumulator that are fed; ok is false when none is.
func (t Target) Graph() (graph, accumulator string, ok bool) {
	return t.graph, t.accumulator, t.graph != ""
}

// Promise ends the sentence on what a user may rely on (M31). delivery says what a crash does
// to values on the path they take, and stored that they are committed first.
func (t Target) Promise(delivery string, stored bool) string {
	clause := t.promise
	if stored && t.stored != "" {
		clause = t.stored
	}
	switch {
	case t.followers:
	case t.delivers && t.graph == "" && clause == "":
		return delivery + "."
	case t.delivers && t.graph == "":
		return delivery + "; " + clause + "."
	}
	return clause + "."
}
