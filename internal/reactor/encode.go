package reactor

import (
	"strconv"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/graph"
)

// AppendRecord appends a record's JSON, the wire shape of GET …/firings/{epoch}. It uses
// only what the record holds, so any goroutine may call it on a clone.
func (c *Config) AppendRecord(dst []byte, r *Record) []byte {
	dst = append(dst, `{"epoch":`...)
	dst = strconv.AppendInt(dst, r.Epoch, 10)
	dst = append(dst, `,"incarnation":`...)
	dst = strconv.AppendInt(dst, r.Incarnation, 10)
	dst = append(dst, `,"at":`...)
	dst = boundary.Time(r.At).AppendJSON(dst)
	dst = append(dst, `,"cause":"`...)
	dst = append(dst, r.Cause.String()...)
	dst = append(dst, `","key":`...)
	dst = AppendKey(dst, r.Key)
	dst = append(dst, `,"ok":`...)
	dst = strconv.AppendBool(dst, r.Err == "")
	dst = append(dst, `,"error":`...)
	dst = appendText(dst, r.Err)
	dst = append(dst, `,"duration_us":`...)
	dst = strconv.AppendInt(dst, r.Duration.Microseconds(), 10)
	dst = c.appendTick(c.Plan.AppendEpoch(dst, r.Duration), &r.Tick)
	dst = append(dst, `,"degraded":[`...)
	for i, name := range r.Degraded {
		dst = appendName(dst, i, name, "")
	}
	dst = append(dst, `],"inputs":{`...)
	for i, v := range r.Inputs {
		dst = appendName(dst, i, c.Inputs[i].Name, ":")
		if c.Inputs[i].Table != nil {
			dst = appendTable(dst, r, i)
			continue
		}
		dst = appendValue(dst, v)
	}
	dst = append(dst, `},"outputs":{`...)
	for i, e := range r.Emitted {
		dst = appendValue(appendName(dst, i, c.Outputs[e.Output], ":"), e.Value)
	}
	dst = append(dst, `},"cut":{`...)
	for i := range r.Cut {
		absent := c.Inputs[i].Table == nil && r.Inputs[i].IsAbsent()
		dst = appendCut(appendName(dst, i, c.Inputs[i].Name, ":"), &r.Cut[i], absent)
	}
	dst = append(dst, `},"nodes":{`...)
	for i := range r.Nodes {
		dst = appendNode(appendName(dst, i, c.Plan.Nodes()[i].Name, ":"), &r.Nodes[i])
	}
	return append(dst, "}}"...)
}

func appendCut(dst []byte, in *CutInput, absent bool) []byte {
	dst = strconv.AppendBool(append(dst, `{"taken":`...), in.Taken)
	dst = strconv.AppendInt(append(dst, `,"events":`...), in.Events, 10)
	at := ""
	if in.At != (boundary.Position{}) {
		at = in.At.String()
	}
	dst = boundary.String(at).AppendJSON(append(dst, `,"position":`...))
	if absent {
		dst = append(dst, `,"absent":true`...)
	}
	return append(dst, '}')
}

func appendNode(dst []byte, n *graph.NodeResult) []byte {
	dst = append(dst, `{"status":"`...)
	dst = append(dst, n.Status.String()...)
	dst = append(dst, `","value":`...)
	dst = appendValue(dst, n.Value)
	dst = append(dst, `,"duration_us":`...)
	if n.Nanos > 0 {
		dst = strconv.AppendFloat(dst, float64(n.Nanos)/1e3, 'f', -1, 64)
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(dst, `,"error":`...)
	if n.Err != nil {
		dst = appendText(dst, n.Err.Text)
	} else {
		dst = append(dst, "null"...)
	}
	return append(n.AppendMore(dst), '}')
}

// MaxRecordValue bounds one value in a record, in bytes. A thousand records are kept: with
// whole values a large one that is only read would be written again with every epoch.
const MaxRecordValue = 16 << 10

// appendValue appends a value as records show it: a large one by its size alone. The
// state has it whole.
func appendValue(dst []byte, v boundary.Value) []byte {
	if n := v.Size(); n > MaxRecordValue {
		dst = append(dst, `{"omitted_bytes":`...)
		return append(strconv.AppendInt(dst, int64(n), 10), '}')
	}
	return v.AppendJSON(dst)
}

// AppendKey appends a key as JSON: null when there is none.
func AppendKey(dst []byte, k boundary.Key) []byte {
	if k == "" {
		return append(dst, "null"...)
	}
	return append(dst, k...)
}

// appendName appends a member's quoted name, after a comma unless it is the first.
func appendName(dst []byte, i int, name, then string) []byte {
	if i > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, '"')
	dst = append(dst, name...) // names are [a-z0-9_]
	dst = append(dst, '"')
	return append(dst, then...)
}

// appendText appends a string, null for the empty one.
func appendText(dst []byte, s string) []byte {
	if s == "" {
		return append(dst, "null"...)
	}
	return boundary.String(s).AppendJSON(dst)
}
