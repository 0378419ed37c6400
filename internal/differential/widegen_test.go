package differential

import (
	"fmt"
	"slices"
)

// drawInputs declares the inputs.
func (w *wide) drawInputs(many int) {
	accs, _ := w.doc["accumulators"].(tree)
	group := many > 1 && w.said && w.one(5)
	for i := range many {
		in := &wideInput{name: []string{"a", "bb", "c"}[i], acc: tree{},
			triggers: i == 0 || !w.one(5) && !(w.asOne && w.one(2))}
		in.kind = w.pick("passthrough", "passthrough", "batch", "state", "window", "window", "fold")
		if !in.triggers {
			how := w.pick("passive", "global")
			if w.asOne {
				how = "global" // which is what has groups of all
			}
			in.acc[how] = true
		}
		if in.kind == "batch" && w.one(2) {
			in.keyed = true
		} else if w.keyed && (in.kind == "batch" || in.kind == "state") {
			if in.kind = "passthrough"; !in.triggers {
				in.kind, in.acc = w.pick("batch", "state"), tree{"global": true}
			}
		}
		w.drawStrategy(in)
		if group && in.triggers && in.strategy != "burst" {
			in.acc["sync_group"] = "feed"
		}
		w.drawShape(in)
		switch in.kind {
		case "batch":
			w.drawBatch(in)
		case "state":
			in.acc["state"] = tree{"keep": 1 + w.r.IntN(5)}
		case "window":
			w.drawWindow(in)
		case "fold":
			w.drawFold(in)
		}
		w.maybe(6, in.acc, "capacity", 200+w.r.IntN(2000))
		w.maybe(6, in.acc, "capacity_bytes", 1<<20+w.r.IntN(1<<20))
		accs[in.name] = in.acc
		w.inputs = append(w.inputs, in)
	}
}

// drawTable declares an input whose events are rows to be looked up.
func (w *wide) drawTable() {
	accs, _ := w.doc["accumulators"].(tree)
	t := tree{"key": "event.k"}
	w.maybe(3, t, "delete_when", "event.x == 3")
	w.maybe(3, t, "ttl", w.ms(500, 5000))
	w.maybe(3, t, "max_rows", 1+w.r.IntN(3))
	w.maybe(5, t, "max_bytes", 1000+w.r.IntN(1000))
	w.maybe(4, t, "as_of", "now")
	if !w.arrival && w.one(2) {
		t["as_of"] = "event"
		w.maybe(3, t, "max_versions", 1+w.r.IntN(9))
	}
	in := &wideInput{name: "tt", kind: "table", acc: tree{"table": t}}
	if !w.arrival {
		in.acc["time"] = "event.at"
	}
	accs[in.name] = in.acc
	w.inputs = append(w.inputs, in)
}

// streams is how many inputs there are beside the table, which comes last.
func (w *wide) streams() int {
	if last := len(w.inputs) - 1; w.inputs[last].kind == "table" {
		return last
	}
	return len(w.inputs)
}

func (w *wide) drawStrategy(in *wideInput) {
	in.strategy = "latest"
	byKind := in.kind == "window" || in.kind == "batch" || in.kind == "fold"
	if byKind {
		in.strategy = "sequential"
	}
	if w.strategy != "" {
		in.strategy = w.strategy
	}
	if in.triggers && (w.said && !((byKind || w.strategy != "") && w.one(3)) || !w.said && w.one(9)) {
		in.strategy = w.pick("latest", "sequential", "sequential", "burst")
		in.acc["strategy"] = in.strategy
	}
	if !in.triggers {
		if in.strategy = "latest"; byKind || w.strategy != "" {
			in.acc["strategy"] = "latest"
		}
	}
}

// drawShape is what becomes of an event before it is folded.
func (w *wide) drawShape(in *wideInput) {
	if !w.arrival {
		in.acc["time"] = "event.at"
		switch w.r.IntN(4) {
		case 0:
			in.acc["time_unit"] = w.pick("s", "ms", "us", "ns")
		case 1:
			in.acc["timezone"] = w.pick("Europe/Zurich", "Asia/Tokyo", "America/New_York")
		}
	}
	w.maybe(5, in.acc, "schema", tree{"type": "object", "properties": tree{
		"x": tree{"type": w.pick("integer", "number")}, "k": tree{"type": "string"}, "g": tree{"type": "integer"},
		"f": tree{"type": "number"}, "s": tree{"type": "string"}, "at": tree{"type": []string{"number", "string"}},
	}})
	w.maybe(4, in.acc, "where", w.pick("event.x % 5 != 0", "event.x != nil and event.x != 3",
		"event.f > vars.threshold", `event.k != "r"`))
	switch n := w.r.IntN(6); {
	case n < 2:
		in.acc["emit"] = tree{"x": "event.x", "k": "event.k", "g": "event.g", "f": "event.f * 2", "s": "event.s"}
	case n == 2:
		in.acc["emit"] = `{x: event.x ?? 1, "k": event.k, "g": event.g, f: event.f, s: upper(event.s)}`
	case n == 3 && !w.keyed && (in.kind == "passthrough" || in.kind == "state" || in.kind == "batch"):
		in.acc["emit"], in.scalar = "event.x", true
	}
	if w.keyed && in.acc["global"] == nil && in.kind == "passthrough" && w.one(3) {
		in.acc["key"] = w.eventKey()
	}
	if in.kind == "passthrough" && w.one(6) {
		if in.acc["default"] = any(tree{"x": 7, "k": "p", "g": 0, "f": 1.5, "s": "none"}); in.scalar {
			in.acc["default"] = 7
		}
	}
}

func (w *wide) drawBatch(in *wideInput) {
	b := tree{}
	w.maybe(2, b, "size", 2+w.r.IntN(8))
	w.maybe(2, b, "interval", w.ms(200, 3000))
	if in.keyed {
		b["key"] = w.eventKey()
	} else if w.maybe(4, b, "flush", "epoch"); w.asOne && w.one(2) {
		b["flush"] = "epoch"
		delete(b, "size")
	}
	if b["size"] == nil && b["interval"] == nil && b["flush"] == nil {
		b["size"] = 3
	}
	in.acc["batch"] = b
}

func (w *wide) drawWindow(in *wideInput) {
	win, step := tree{"aggregate": w.aggregates()}, 300+w.r.IntN(5000)
	forms := 6
	if w.asOne {
		forms = 4 // groups are of windows that all keys have in common
	}
	switch w.r.IntN(forms) {
	case 0, 1:
		win["tumbling"] = fmt.Sprintf("%dms", step)
	case 2, 3:
		win["hopping"] = tree{"size": fmt.Sprintf("%dms", step*(1+w.r.IntN(3))), "every": fmt.Sprintf("%dms", step)}
	case 4:
		win["session"] = w.ms(50, 3000)
	default:
		size := 1 + w.r.IntN(6)
		count := tree{"size": size}
		w.maybe(2, count, "every", 1+w.r.IntN(size))
		win["count"], in.counted = count, true
		w.group(in, win)
		return
	}
	w.maybe(2, win, "lateness", w.ms(1, 3000))
	w.maybe(6, win, "idle", w.ms(2000, 9000))
	w.maybe(5, win, "early", w.ms(200, 2000))
	switch late := w.pick("drop", "dead_letter", "update", "side", "", "", ""); late {
	case "":
	case "side":
		if in.triggers {
			in.late = in.name + "_late"
			win["late"] = in.late
		}
	case "update":
		win["late"], win["retain"] = late, w.ms(100, 5000)
	default:
		win["late"] = late
	}
	w.group(in, win)
}

// group declares what groups the events of a window.
func (w *wide) group(in *wideInput, win tree) {
	if w.keyed || w.one(2) {
		win["key"] = w.eventKey()
		if w.one(3) {
			win["key"] = []string{"event.k", "event.g"}
		}
		if win["session"] == nil && win["count"] == nil && (in.acc["global"] != nil || !w.keyed) {
			if w.maybe(3, win, "groups", w.pick("all", "all", "each")); w.asOne {
				win["groups"] = w.pick("all", "each")
			}
			in.grouped = win["groups"] == "all"
		}
	}
	in.acc["window"] = win
}

// aggregates are some of all there are; n and s are always there.
func (w *wide) aggregates() tree {
	all := map[string]string{
		"avg": "mean(event.f)", "low": "min(event.s)", "high": "::max(max(event.x), 3)",
		"dev": "round((stddev(event.x) ?? 0) * 1000)", "short": "min_by(event.s, event.x)",
		"long": "max_by(event.s, event.f)", "one": "first(event.s)", "two": "last(event.x)",
		"half": "quantile(event.x, 0.5)", "kinds": "distinct(event.s)",
		"exact": w.pick("count_distinct(event.s)", "count_distinct(event.x)", "count_distinct(event.x, 4)"),
		"some":  "collect(event.x, 3)", "best": "top(event.s, event.x, 2)", "whole": "last(event)",
	}
	agg := tree{"n": "count()", "s": "sum(event.x)"}
	for _, name := range slices.Sorted(keysOf(all)) {
		w.maybe(4, agg, name, all[name])
	}
	return agg
}

func (w *wide) drawFold(in *wideInput) {
	in.fold = w.pick("mapping", "mapping", "value")
	f := tree{}
	if in.fold == "mapping" {
		f["init"] = tree{"n": "0", "s": "vars.threshold"}
		f["step"] = tree{"n": "state.n + 1", "s": "state.s + event.x"}
		if w.one(3) {
			f["init"], f["step"] = "{n: 0, s: 1}", "state.n > 6 ? nil : {n: state.n + 1, s: state.s + event.x}"
			f["result"] = tree{"n": "state.n", "s": "state.s"}
		}
		w.maybe(3, f, "result", tree{"n": "state?.n", "s": "state?.s", "x": "event.x"})
	} else {
		f["step"] = "(state ?? 0) + event.x"
		w.maybe(3, f, "init", "5")
		w.maybe(3, f, "result", "state - 1")
	}
	w.maybe(3, f, "emit_when", "event.x % 3 != 1")
	if w.keyed || w.one(2) {
		if f["key"] = w.eventKey(); w.one(4) {
			f["key"] = []string{"event.k", "event.g"}
		}
		w.maybe(3, f, "max_keys", 1+w.r.IntN(4))
		w.maybe(6, f, "max_bytes", 60+w.r.IntN(400))
		if in.fold == "value" {
			in.fold = "keyed value"
		}
	}
	in.acc["fold"] = f
}

// drawReactor declares when to fire.
func (w *wide) drawReactor() {
	r := tree{}
	var names []string
	side := false
	for _, in := range w.inputs {
		if in.triggers {
			names = append(names, in.name)
		}
		side = side || in.late != ""
	}
	all := false
	switch w.r.IntN(6) {
	case 0, 1:
		r["when"] = "any"
	case 2:
		if all = !side; all {
			r["when"] = "all"
		}
	case 3:
		all = len(names) > 1
		r["when"] = tree{"all": names}
	case 4:
		r["when"] = tree{"any": names[:1+w.r.IntN(len(names))]}
	}
	if w.strategy != "" {
		r["strategy"] = w.strategy
	}
	if w.keyed {
		if r["key"] = any(w.by[0]); len(w.by) > 1 || w.one(4) {
			r["key"] = w.by
		}
		w.maybe(3, r, "ttl", w.ms(500, 5000))
		w.maybe(4, r, "max_keys", 1+w.r.IntN(3))
		w.maybe(4, r, "max_waiting", 1+w.r.IntN(10))
		if !slices.ContainsFunc(w.inputs, (*wideInput).folds) { // see known
			w.maybe(3, r, "max_waiting_bytes", 2000+w.r.IntN(8000))
		}
		w.maybe(2, r, "on_evict", w.pick("drop", "dead_letter"))
	}
	w.maybe(4, r, "debounce", w.ms(50, 600))
	w.maybe(5, r, "rate_limit", w.ms(50, 900))
	w.maybe(6, r, "every", fmt.Sprintf("%dms", 100*(3+w.r.IntN(20))))
	if all || r["debounce"] != nil {
		w.maybe(2, r, "max_wait", w.ms(300, 3000))
	}
	w.maybe(8, r, "warm_timeout", "1m")
	w.maybe(8, r, "on_warm_timeout", w.pick("fail", "fire_anyway"))
	w.maybe(8, r, "epoch_timeout", "1m")
	if w.one(8) {
		r["budget"] = "5m"
		w.maybe(2, r, "on_overrun", w.pick("record", "cancel_epoch"))
	}
	w.maybe(5, r, "restart", w.some(tree{"attempts": 3, "base": "100ms", "max": "1s", "reset": "10s",
		"on_exhausted": w.pick("fail", "degrade")}))
	if w.one(4) {
		r["guard"] = w.guard()
	}
	w.doc["reactor"] = r
}

// drawKeeping declares what is kept, and for how long.
func (w *wide) drawKeeping() {
	d := tree{}
	w.maybe(4, d, "mode", w.pick("checkpoint", "journal", "none"))
	w.maybe(3, d, "interval", w.pick("20ms", "200ms", "5s"))
	w.maybe(3, d, "every_epochs", 1+w.r.IntN(50))
	w.maybe(8, d, "on_failure", "advance")
	if d["mode"] == "none" {
		d = tree{"mode": "none"}
	}
	if len(d) > 0 {
		w.doc["durability"] = d
	}
	w.maybe(4, w.doc, "history", w.some(tree{"keep": 1 + w.r.IntN(100)}))
	w.maybe(8, w.doc, "limits", w.some(tree{"events_per_second": 1_000_000, "cpu": 1 + w.r.IntN(4)}))
	if limits, ok := w.doc["limits"].(tree); ok && limits["cpu"] != nil {
		limits["memory"] = "4GiB" // with no draw of its own, so that seeds stay the declarations they are
	}
	w.maybe(4, w.doc, "dead_letters", w.some(tree{"keep": "1h", "max": 1 + w.r.IntN(100), "max_bytes": 10_000}))
}
