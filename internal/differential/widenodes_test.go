package differential

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }

// numbers are expressions over an input that are a number, once it has arrived.
func (in *wideInput) numbers() []string {
	one := func(exprs ...string) []string {
		for i := range exprs {
			exprs[i] = strings.ReplaceAll(exprs[i], "IN", in.name)
		}
		return exprs
	}
	if in.kind == "table" {
		return one(`(IN["p"]?.x ?? 2)`, `(IN["q"]?.f ?? 1)`, `(IN["r"] == nil ? 1 : 0)`)
	}
	if in.strategy == "burst" {
		return one("len(IN)", "len(string(IN))")
	}
	switch in.kind {
	case "batch", "state":
		switch {
		case in.keyed && in.scalar:
			return one("len(IN.events)", "sum(IN.events)")
		case in.keyed:
			return one("len(IN.events)", "sum(IN.events, .x)", "last(map(IN.events, .f))")
		case in.scalar:
			return one("len(IN)", "sum(IN)", "first(IN)")
		}
		return one("len(IN)", "sum(IN, .x)", "last(map(IN, .f))")
	case "window":
		if in.grouped {
			return one("len(IN.groups)", "sum(IN.groups, .n)")
		}
		if in.counted {
			return one("IN.n", "IN.s")
		}
		return one("IN.n", "IN.s", "IN.n + len(string(IN.start))")
	case "fold":
		switch in.fold {
		case "mapping":
			return one("IN.n", "IN.s")
		case "keyed value":
			return one("IN.value")
		}
		return one("IN")
	}
	if in.scalar {
		return one("IN")
	}
	return one("IN.x", "IN.f", "IN.x + IN.g", "len(IN.s)")
}

// number is an expression over inputs and nodes.
func (w *wide) number() string {
	if len(w.nums) > 0 && w.one(3) {
		return w.pick(w.nums...)
	}
	in := w.inputs[w.r.IntN(len(w.inputs))]
	if in.late != "" && w.one(3) {
		return in.late + "." + w.pick("x", "f")
	}
	n := w.pick(in.numbers()...)
	if in.kind == "table" {
		return n
	}
	switch w.r.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s != nil ? %s : %d)", in.name, n, w.r.IntN(9))
	case 1:
		if !strings.Contains(n, "(") && !strings.Contains(n, " ") {
			return fmt.Sprintf("(%s ?? %d)", n, w.r.IntN(9))
		}
	}
	return n
}

func (w *wide) name() string { return w.inputs[w.r.IntN(w.streams())].name }

// guard is a condition over inputs, and nodes as they were.
func (w *wide) guard() string {
	return w.pick(
		fmt.Sprintf("%s != %d", w.number(), w.r.IntN(9)),
		fmt.Sprintf("%s > vars.threshold / 4", w.number()),
		fmt.Sprintf("fresh(%s) or %s > 2", w.name(), w.number()),
		fmt.Sprintf("now().Second() %% 3 != 0 and %s != nil", w.name()),
		fmt.Sprintf("(%s ?? 1) != 2", w.name()),
	)
}

// memories are functions with memory; X is a number.
var memories = []string{
	"ema(X, 0.3)", "ema(X, 4)", `ema(X, duration("2s"))`, "lag(X)", "lag(X, 3)", "delta(X)", "rate(X)",
	"rolling_count(X, 5)", `rolling_count(X, duration("1s"))`, `rolling_sum(X, duration("2s"))`, "rolling_sum(X, 4)",
	`rolling_mean(X, duration("3s"))`, "rolling_stddev(X, 5)", `rolling_min(X, duration("1500ms"))`,
	"rolling_max(X, 3)",
	`(dedupe(X, duration("2s")) ? 1 : 0)`, `rolling_sum(X, duration("2s"), now())`, `rate(X, now())`,
}

// plains are functions and operators without memory; X and Y are numbers.
var plains = []string{
	"X + Y", "X * 2 - Y", "X / (Y + 100000)", "abs(X - Y)", "max(X, Y, 3)", "X > Y ? X : Y", "X + vars.threshold",
	"X + epoch() % 3", "round(X) + now().Second()", "1 / (int(X) % 4)", "len(string(X))", "(X > 9 ? X : nil) ?? Y",
	"let d = X - Y; d > 0 ? d : 0", "int(X) + int(Y)", "X",
}

// asks are expressions over what the epoch is about; I is an input.
var asks = []string{"fresh(I) ? X : -1", `cause() == "criteria" ? X : 0`, `(cause() == "tick" ? 1 : 2) + epoch()`}

// delays are expressions that read D as of the epoch before; X is a number.
var delays = []string{"(D ?? 0) * 0.5 + X", "X - (D ?? X)", "D == nil ? X : D", "(D ?? 1) > X ? 1 : 2", "D"}

// drawNodes declares the nodes.
func (w *wide) drawNodes() {
	nodes, _ := w.doc["nodes"].(tree)
	for i := range 2 + w.r.IntN(6) {
		name, n := fmt.Sprintf("n%d", 1+i), tree{}
		kind := w.r.IntN(10)
		x := func(forms []string) string {
			return strings.NewReplacer("X", w.number(), "Y", w.number(), "I", w.name()).Replace(w.pick(forms...))
		}
		switch {
		case kind < 3 && w.said:
			n["expr"] = x(memories)
			w.nums = append(w.nums, name)
		case kind < 5 && w.said && w.one(2):
			before := w.pick(append([]string{name}, w.nums...)...)
			n["expr"] = strings.ReplaceAll(x(delays), "D", before)
			n["delay"] = []string{before}
			w.nums = append(w.nums, name)
		case kind < 5:
			n["expr"] = x(plains)
			w.nums = append(w.nums, name)
		case kind < 6:
			n["expr"] = x(asks)
			w.nums = append(w.nums, name)
		case kind < 8:
			w.drawRoute(name, n)
			w.others = append(w.others, name)
		default:
			n["expr"] = w.row()
			w.others = append(w.others, name)
		}
		w.drawAfter(name, n)
		w.maybe(5, n, "on_error", w.pick("fail_epoch", "skip", "last_good", "dead_letter"))
		w.maybe(5, n, "priority", w.pick("high", "normal", "low", "background"))
		if w.one(6) { // no machine is so slow that one is not kept
			n["budget"] = "5m"
			w.maybe(2, n, "on_overrun", w.pick("record", "cancel_epoch"))
		}
		if w.said {
			w.maybe(4, n, "event", w.one(2))
		}
		nodes[name] = n
	}
}

// drawLoop declares two nodes that run until they agree, or not.
func (w *wide) drawLoop() {
	nodes, _ := w.doc["nodes"].(tree)
	x := func(forms ...string) string {
		return strings.NewReplacer("X", w.number(), "Y", w.number()).Replace(w.pick(forms...))
	}
	nodes["lp1"] = tree{"expr": x("(lp2 ?? 1) * 0.5 + X", "(lp2 ?? 0) < 7 ? (lp2 ?? 0) + 1 : X",
		"lp2 == nil ? X : lp2 - Y", "(lp2 ?? 0) + X", "iteration() > 3 ? 1 / (lp2 ?? 1) : X")}
	nodes["lp2"] = tree{"expr": x("lp1", "lp1 > 9 ? 9 : lp1", "lp1 * 0.25 + (X ?? Y)",
		"1 / (int(lp1) % 5)", "max(lp1, X)")}
	for _, name := range []string{"lp1", "lp2"} {
		w.maybe(4, nodes[name].(tree), "on_error", w.pick("fail_epoch", "skip"))
		w.maybe(4, nodes[name].(tree), "priority", w.pick("high", "normal", "low", "background"))
	}
	loop := tree{"nodes": []string{"lp1", "lp2"}}
	w.maybe(2, loop, "max_iterations", 1+w.r.IntN(12))
	w.maybe(3, loop, "until", x("lp2 > 5", "abs(lp2 - lp1) < 0.001", "lp1 == X", "iteration() > 4 or lp2 > Y"))
	w.maybe(2, loop, "on_no_convergence", w.pick("discard", "discard", "commit", "commit", "commit", "fail"))
	w.doc["loops"] = tree{"settle": loop}
	w.nums = append(w.nums, "lp1", "lp2")
}

// row is an expression that shows much of what there is.
func (w *wide) row() string {
	parts := []string{"now()", "epoch()", "cause()"}
	for _, in := range w.inputs[:w.streams()] {
		parts = append(parts, in.name+" ?? nil", "fresh("+in.name+")")
		if in.late != "" {
			parts = append(parts, in.late+" ?? nil")
		}
	}
	for _, n := range slices.Concat(w.nums, w.others) {
		parts = append(parts, n+" ?? nil")
	}
	if w.keyed {
		parts = append(parts, "key")
	}
	var some []string
	for _, p := range parts {
		if w.one(2) {
			some = append(some, p)
		}
	}
	if some = append(some, w.number()+" ?? -1"); w.one(3) {
		return fmt.Sprintf(`{"row": [%s], "k": key}`, strings.Join(some, ", "))
	}
	return "[" + strings.Join(some, ", ") + "]"
}

func (w *wide) drawRoute(name string, n tree) {
	hi, lo := fmt.Sprintf("%s > %d", w.number(), w.r.IntN(12)), fmt.Sprintf("%s < vars.threshold", w.number())
	routes := []string{"r1", "r2", "r3"}[:2+w.r.IntN(2)]
	conds := []string{hi, lo, "true"}
	if w.one(2) {
		n["route"] = tree{}
		for i, r := range routes {
			n["route"].(tree)[r] = conds[i]
		}
	} else {
		list := []tree{}
		for i, r := range routes {
			list = append(list, tree{r: conds[i]})
		}
		n["route"] = list
	}
	w.routes[name] = routes
}

// drawAfter puts a node behind others.
func (w *wide) drawAfter(name string, n tree) {
	before := slices.DeleteFunc(slices.Concat(w.nums, w.others), func(s string) bool { return s == name })
	if len(before) == 0 || !w.one(3) {
		return
	}
	one := func() string {
		b := w.pick(before...)
		if r := w.routes[b]; r != nil && !w.one(4) {
			return b + "." + w.pick(r...)
		}
		return b
	}
	first, second := one(), one()
	switch {
	case w.one(2) || first == second:
		n["after"] = first
	case w.one(2):
		n["after"] = []string{first, second}
	default:
		n["after"] = tree{"all": []string{first, second}}
	}
}

// drawStage declares an input that a node feeds, and a node and an output behind it.
func (w *wide) drawStage() {
	accs, _ := w.doc["accumulators"].(tree)
	nodes, _ := w.doc["nodes"].(tree)
	key := "0"
	if w.keyed {
		key = "key"
	}
	nodes["src"] = tree{"expr": fmt.Sprintf(`{"x": %s, "k": %s}`, w.number(), key)}
	stage, read := tree{"from": "src"}, "stage.x"
	kind := w.pick("passthrough", "window", "fold", "batch", "state")
	if w.keyed && (kind == "batch" || kind == "state") {
		kind = "fold"
	}
	switch kind {
	case "window":
		win := tree{"key": "event.k", "aggregate": tree{"n": "count()", "s": "sum(event.x)"}}
		if form := w.pick("tumbling", "tumbling", "session", "count"); form == "count" {
			win[form] = tree{"size": 1 + w.r.IntN(4)}
		} else {
			win[form] = w.ms(200, 3000)
		}
		stage["window"] = win
		read = w.pick("stage.n", "stage.s")
	case "fold":
		stage["fold"] = tree{"key": "event.k", "step": tree{"n": "(state?.n ?? 0) + event.x"}}
		read = "stage.n"
	case "batch":
		stage["batch"] = tree{"size": 1 + w.r.IntN(4)}
		read = "len(stage)"
	case "state":
		stage["state"] = tree{"keep": 2}
		read = "sum(stage, .x)"
	}
	accs["stage"] = stage
	nodes["behind"] = tree{"expr": read + " + epoch() % 2"}
	if w.said && w.one(2) {
		nodes["behind"] = tree{"expr": fmt.Sprintf(`rolling_sum(%s, duration("2s"))`, read)}
	}
	w.nums = append(w.nums, "behind")
	w.others = append(w.others, "src", "stage")
}

// drawOutputs declares what goes where.
func (w *wide) drawOutputs() {
	outs, _ := w.doc["outputs"].(tree)
	add := func(from string, number bool) {
		name := "o_" + from
		o := tree{"from": from, "sink": tree{"stdout": tree{}}}
		if w.one(5) {
			o["sink"] = tree{"file": tree{"path": name}}
			w.maybe(2, o, "delivery", w.pick("outbox", "direct"))
		}
		w.maybe(4, o, "emit", w.pick("each", "on_change"))
		w.maybe(4, o, "emit_null", true)
		if o["emit"] == "each" {
			o["fresh"] = "1ms" // which nobody keeps, and which changes nothing
		}
		w.maybe(6, o, "on_error", w.pick("block", "dead_letter"))
		if w.one(8) {
			o["retry"] = w.some(tree{"base": "10ms", "max": "1s"})
			if o["on_error"] == "dead_letter" {
				o["retry"].(tree)["attempts"] = 3
			}
		}
		if w.one(4) {
			o["where"] = w.outputWhere(number)
		}
		outs[name] = o
	}
	for _, n := range w.nums {
		add(n, true)
	}
	for _, n := range w.others {
		add(n, false)
	}
	for _, in := range w.inputs[:w.streams()] {
		if w.one(2) || len(outs) == 0 {
			add(in.name, false)
		}
		if in.late != "" && w.one(2) {
			add(in.late, false)
		}
	}
}

func (w *wide) outputWhere(number bool) string {
	if number && w.one(2) {
		return w.pick("value > 3", "value != nil and value < 12", "value != nil")
	}
	return w.pick("epoch % 2 == 0", fmt.Sprintf("fresh(%s)", w.name()), `cause() != "tick"`, `output != "none"`,
		`key != "p"`, "now().Second() % 4 != 1", w.name()+" != nil", fmt.Sprintf("%s > 4", w.number()))
}
