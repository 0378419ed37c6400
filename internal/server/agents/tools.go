package agents

import (
	"fmt"
	"net/http"
	"sync"

	"github.com/graphd/graphd/internal/access"
)

const (
	onGraph  = "/v1/graphs/{graph}"
	onInput  = onGraph + "/accumulators/{accumulator}"
	onLetter = onGraph + "/dead-letters"
)

// list are tools by their order.
type list []*tool

// tools are all there are, those that only read first.
var tools = sync.OnceValue(func() list { return append(reading(), changing()...) })

func (l list) find(name string) *tool {
	for _, t := range l {
		if t.name == name {
			return t
		}
	}
	return &tool{needs: access.Nobody}
}

// Arguments that several tools have.
var (
	graph       = needed(of(inPath, aText, "graph", "name of the graph"))
	accumulator = needed(of(inPath, aText, "accumulator", "name of the input"))
	key         = of(inQuery, aText, "key", "one key of a graph with keys: a text as it is, another key as JSON")
	shard       = of(inQuery, aNumber, "shard", "one shard of a graph with shards, from 0")
	before      = of(inQuery, aText, "before", "the next of the answer before, to go on from there")
	epoch       = of(inQuery, aNumber, "epoch", "number of the epoch")
	declaration = needed(of(inBody, aText, "declaration", "the whole declaration as YAML or JSON, in one text "+
		"without include"))
	set = of(inQuery, anObject, "set", "vars of the declaration that get another value")
)

// of is an argument that need not be given.
func of(in place, k kind, name, about string) arg {
	return arg{name: name, kind: k, in: in, about: about}
}

func needed(a arg) arg {
	a.needed = true
	return a
}

// limit is how many items a list is asked for.
func limit(usual, most int) arg {
	return arg{name: "limit", kind: aNumber, in: inQuery, most: most,
		about: fmt.Sprintf("how many, %d where it is left out", usual)}
}

// filters choose among dead letters, in the query or in the members of a body.
func filters(in place) []arg {
	text := func(name, about string) arg { return of(in, aText, name, about) }
	return []arg{text("code", "why they are dead letters, as bad_value"),
		text("stage", "where they came to be: decode, filter, epoch, sink, …"),
		text("accumulator", "of this input"),
		text("output", "of this output"),
		text("key", "of this key"),
		text("since", "not older: a time (RFC 3339) or a duration back from now, as 90m"),
		text("until", "not newer, likewise"),
		text("where", "an expression over event, code, stage, at, epoch, key")}
}

// reading are the tools that change nothing.
func reading() list {
	get := func(name, title, about, path string, args ...arg) *tool {
		return &tool{name: name, title: title, about: about, method: http.MethodGet, path: path, needs: access.Read,
			args: args}
	}
	paged := func(name, title, about, path string, args ...arg) *tool {
		t := get(name, title, about, path, append(append([]arg{graph}, args...), limit(20, 200), before)...)
		t.usual, t.most = 20, 200
		return t
	}
	graphs := get("list_graphs", "Graphs", "How all graphs stand, in short, those that need attention first.",
		"/v1/graphs",
		of(ofShown, aText, "match", "only names of this form, as fx_*"),
		of(ofShown, aText, "health", "only those of this health, as degraded, failed or live"),
		arg{name: "limit", kind: aNumber, in: ofShown, about: "how many, 50 where it is left out", most: 200},
		of(ofShown, aText, "after", "the next of the answer before, to go on from there"))
	graphs.shape, graphs.usual, graphs.most = standing, 50, 200
	text := get("get_declaration", "Declaration", "The declaration of a graph as it was applied, or that of an "+
		"earlier revision.", onGraph, graph)
	text.accepts = "application/yaml"
	earlier := get("get_revision", "Revision", "The declaration of an earlier revision, which list_revisions lists.",
		onGraph+"/revisions/{revision}", graph,
		needed(of(inPath, aNumber, "revision", "its number")))
	earlier.accepts = text.accepts
	valid := &tool{name: "validate_declaration", title: "Check a declaration", needs: access.Author,
		about: "Check a declaration as the daemon would when it is applied, and change nothing: every mistake with " +
			"its line, code and advice, or the plan, and what would change in the graph of that name if there is one.",
		method: http.MethodPut, path: onGraph, fixed: map[string]string{"dry_run": "1"},
		args: []arg{graph, declaration, set}}
	try := &tool{name: "test_declaration", title: "Test a declaration", needs: access.Author,
		about: "Run the tests of a declaration as graphd test does, under virtual time, and apply nothing: what " +
			"became of each case, with the line in the tests and what differed. There need be no graph of that name.",
		method: http.MethodPost, path: onGraph + "/test",
		args: []arg{graph, needed(of(inMember, aText, "declaration", "the whole declaration as YAML or JSON")),
			needed(of(inMember, aText, "tests", "the test document: graph, and cases with steps of push, advance, "+
				"command, answers and expect")),
			of(inMember, anObject, "set", "vars of the declaration that get another value")}}
	return list{graphs,
		get("describe_graph", "A graph", "How a graph stands: health and its reason, what the next epoch waits for, "+
			"inputs, outputs, counters, guarantees, checkpoints, cost.", onGraph, graph, shard),
		get("why", "Why an epoch ran", "Why an epoch ran: what caused it, what it read, what was computed or cut "+
			"off, and what has become of what it put out. Without a choice it is the newest epoch.", onGraph+"/why",
			graph, epoch, shard, of(inQuery, aText, "firing_id", "id that came with an output's value"), key),
		get("why_not", "Why nothing comes", "Why nothing comes: what stands in the way now, why the newest epochs put "+
			"nothing out, and a sample of events and cuts that came to nothing, counted.", onGraph+"/why-not", graph,
			key,
			of(inQuery, aText, "output", "only what this output rests on"),
			of(inQuery, aText, "since", "not older: a time (RFC 3339) or a duration, as 10m")),
		paged("list_firings", "Firings", "The newest epochs that ran: cause, key, inputs, outputs, errors, duration.",
			onGraph+"/firings", key, shard),
		get("get_firing", "A firing", "One epoch in full: every node with its outcome, value and duration, and the "+
			"positions it was cut at.", onGraph+"/firings/{epoch}", graph,
			needed(of(inPath, aNumber, "epoch", "number of the epoch")), shard),
		get("get_state", "State", "What a graph holds between two epochs: input cache, dirty flags, queues, values of "+
			"nodes; of a graph with keys that of one key.", onGraph+"/state", graph, key, shard),
		paged("list_keys", "Keys", "The keys of a graph with keys, each with when something came for it last and how "+
			"much of it waits.", onGraph+"/keys",
			of(inQuery, aText, "search", "only with this"), of(inQuery, aText, "sort", "recent, key or waiting")),
		get("get_accumulator", "An input", "One input: its schema, the type of its boundaries, source, position, "+
			"watermarks and counters.", onInput, graph, accumulator),
		paged("list_dead_letters", "Dead letters", "Events and values that could not be used, with why, newest first.",
			onLetter, filters(inQuery)...),
		paged("list_recovery_events", "Recoveries", "Restarts and other acts of the supervisor, newest first.",
			onGraph+"/recovery-events"),
		get("get_plan", "Plan", "The compiled plan of a graph: nodes in their order, types, what fires it.",
			onGraph+"/plan", graph),
		text, get("list_revisions", "Revisions", "The revisions of a graph's declaration, with who applied each.",
			onGraph+"/revisions", graph), earlier,
		get("get_limits", "Limits", "Every limit of the daemon and of the tenant, with its use.", "/v1/limits"),
		valid, try,
	}
}

// changing are the tools that change something.
func changing() list {
	post := func(name, title, about, path string, args ...arg) *tool {
		return &tool{name: name, title: title, about: about, method: http.MethodPost, path: path, changes: true,
			needs: access.Operate, args: append([]arg{graph}, args...)}
	}
	author := func(t *tool) *tool {
		t.needs, t.destroys = access.Author, true
		return t
	}
	member := func(name, about string, k kind) arg { return of(inMember, k, name, about) }
	confirm := needed(member("confirm", "the name of the graph once more", aText))
	which := append([]arg{member("ids", "these letters, and then nothing else chooses", texts),
		member("all", "all there are", aFlag)}, filters(inMember)...)
	which = append(which, member("limit", "how many at most by this call, 100 where it is left out", aNumber),
		member("after", "the next of the answer before", aText))
	push := post("push_events", "Push events", "Push events into an input, as its source would. Whatever follows from "+
		"them follows: epochs run, outputs are delivered.", onInput+"/events", accumulator,
		needed(of(inBody, anything, "events", "one event, or an array of events")),
		of(onceKey, aText, "idempotency_key", "under the same key the same events are taken once"))
	push.needs = access.Push
	discard := post("discard_dead_letters", "Discard dead letters", "Delete dead letters for good.",
		onLetter+"/discard",
		which...)
	discard.destroys = true
	apply := author(post("apply_declaration", "Apply a declaration", "Make a graph, or change one while it runs; a "+
		"mistake "+
		"changes nothing. Check it first with validate_declaration.", onGraph, declaration, set,
		of(ifMatch, aNumber, "if_revision", "only where this is the graph's revision now")))
	apply.method = http.MethodPut
	remove := author(post("delete_graph", "Delete a graph", "Stop a graph and remove it.", onGraph,
		needed(of(inQuery, aText, "state", "keep, to find its state when it comes back, or "+
			"delete, for good"))))
	remove.method = http.MethodDelete
	part := []arg{member("accumulator", "name of the input", aText), member("output", "or of the output", aText)}
	return list{push,
		post("fire_graph", "Fire", "Run an epoch now: on what is there (mode force), or on values given (mode with).",
			onGraph+"/fire", needed(member("mode", "force or with", aText)),
			member("cache", "with: values by input", anObject),
			member("replace", "with: false leaves the cache as it was, an epoch aside; true where it is left out",
				aFlag),
			member("key", "the key of a graph with keys", anything),
			member("only_changed", "force: put out only what has changed", aFlag)),
		post("pause_graph", "Pause", "Run no epochs until it is resumed; events wait.", onGraph+"/pause"),
		post("resume_graph", "Resume", "Go on after a pause.", onGraph+"/resume"),
		post("step_graph", "Step", "Run so many epochs of a paused graph.", onGraph+"/step",
			member("n", "how many, 1 where it is left out", aNumber)),
		post("checkpoint_graph", "Checkpoint", "Make a checkpoint now, and answer when it is durable.",
			onGraph+"/checkpoint"),
		post("drain_graph", "Drain", "Take no more from the sources, and answer when nothing is left to fire.",
			onGraph+"/drain"),
		post("restart_graph", "Restart", "Restart a graph, or one of its inputs, from its last checkpoint.",
			onGraph+"/restart", member("accumulator", "this input alone", aText)),
		post("stop_part", "Stop a part", "Stop one input or output while the others go on.", onGraph+"/stop", part...),
		post("start_part", "Start a part", "Start an input or output that was stopped.", onGraph+"/start", part...),
		post("replay_dead_letters", "Replay dead letters", "Put dead letters through again, once what made them is "+
			"mended.",
			onLetter+"/replay", append([]arg{member("preview", "say what would become of them, and do nothing", aFlag)},
				which...)...),
		discard, apply,
		author(post("roll_back", "Roll back", "Go back to an earlier revision of the declaration.", onGraph+"/rollback",
			member("revision", "its number; the one before the present where it is left out", aNumber),
			member("dry_run", "say what would change, and change nothing", aFlag))),
		author(post("rewind_accumulator", "Rewind an input", "Have an input read again from a position of its source.",
			onInput+"/rewind", accumulator, needed(member("position", "start, or a position of the source", aText)),
			confirm)),
		author(post("reset_graph", "Reset", "Drop all state of a graph, and begin anew.", onGraph+"/reset", confirm)),
		post("skip_lost", "Skip what is lost", "Go on behind events that the source does not have any more.",
			onGraph+"/skip-lost", needed(member("accumulator", "name of the input", aText))),
		remove,
	}
}
