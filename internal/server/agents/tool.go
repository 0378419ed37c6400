package agents

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/graphd/graphd/internal/access"
	"github.com/graphd/graphd/internal/api"
)

// tool is a route of the API as agents call it.
type tool struct {
	name, title, about string
	method, path       string
	needs              access.Permission
	changes, destroys  bool
	args               []arg
	// fixed are parameters of the query that the agent does not choose.
	fixed map[string]string
	// accepts is the media type that is asked for, "" for the usual one.
	accepts string
	// usual and most are how many items a list has where nothing is said, and at most; 0 of what is no list.
	usual, most int
	// shape makes of the answer what an agent is shown; nil shows it as it is.
	shape func(answer []byte, args arguments) []byte
}

// arg is an argument of a tool, which goes to a place of the request.
type arg struct {
	name   string
	kind   kind
	in     place
	needed bool
	about  string
	most   int // of a number; 0 bounds nothing here
}

// place is where an argument goes.
type place uint8

const (
	inPath   place = iota // a part of the path
	inQuery               // a parameter
	inMember              // a member of the body's object
	inBody                // the body
	ifMatch               // the revision of If-Match
	onceKey               // the Idempotency-Key
	ofShown               // nowhere: it says what is shown of the answer
)

// kind is the type of an argument.
type kind uint8

const (
	aText kind = iota
	aNumber
	aFlag
	anObject
	texts
	anything
)

// fits says whether a JSON value is of the kind.
func (k kind) fits(raw json.RawMessage) bool {
	first := raw[0]
	switch k {
	case aText:
		return first == '"'
	case aNumber:
		_, err := strconv.ParseInt(string(raw), 10, 64)
		return err == nil
	case aFlag:
		return first == 't' || first == 'f'
	case anObject:
		return first == '{'
	case texts:
		var all []string
		return json.Unmarshal(raw, &all) == nil
	case anything:
	}
	return true
}

func (k kind) words() string {
	return [...]string{"a text", "a whole number", "true or false", "an object", "an array of texts", "JSON"}[k]
}

// schema is the JSON Schema of an argument.
func (a *arg) schema() map[string]any {
	s := map[string]any{"description": a.about}
	switch a.kind {
	case aText:
		s["type"] = "string"
	case aNumber:
		s["type"] = "integer"
		if a.most > 0 {
			s["minimum"], s["maximum"] = 1, a.most
		}
	case aFlag:
		s["type"] = "boolean"
	case anObject:
		s["type"] = "object"
	case texts:
		s["type"], s["items"] = "array", map[string]any{"type": "string"}
	case anything:
	}
	return s
}

// declared is the tool as the protocol lists it.
func (t *tool) declared() *mcp.Tool {
	properties, required := map[string]any{}, []string{}
	for _, a := range t.args {
		properties[a.name] = a.schema()
		if a.needed {
			required = append(required, a.name)
		}
	}
	schema := map[string]any{"type": "object", "properties": properties, "required": required,
		"additionalProperties": false}
	return &mcp.Tool{Name: t.name, Title: t.title, InputSchema: schema,
		Description: t.about + " Takes a role with the permission " + t.needs.String() + ".",
		Annotations: &mcp.ToolAnnotations{Title: t.title, ReadOnlyHint: !t.changes, DestructiveHint: new(t.destroys),
			OpenWorldHint: new(t.changes)}}
}

// knows are the names of the arguments.
func (t *tool) knows() string {
	names := make([]string, len(t.args))
	for i, a := range t.args {
		names[i] = a.name
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// brief is a graph in a list for agents.
type brief struct {
	Graph      string       `json:"graph"`
	Health     string       `json:"health"`
	Reason     *api.Reason  `json:"health_reason,omitempty"`
	Paused     bool         `json:"paused,omitempty"`
	WaitingFor []string     `json:"waiting_for,omitempty"`
	Epoch      int64        `json:"epoch"`
	LastFired  *time.Time   `json:"last_fired_at"`
	PerSecond  float64      `json:"epochs_per_second"`
	Counters   api.Counters `json:"counters"`
}

// briefs are a part of a list of graphs.
type briefs struct {
	Items []brief `json:"items"`
	// Graphs is how many there are of what was asked for, shown here or not.
	Graphs  int           `json:"graphs"`
	Next    string        `json:"next,omitempty"`
	Missing []api.Missing `json:"missing,omitempty"`
}

// standing is a list of graphs in short, those first that are not well. What follows on it goes on behind the last one.
func standing(answer []byte, args arguments) []byte {
	var all api.GraphList
	if err := json.Unmarshal(answer, &all); err != nil {
		return answer
	}
	match, health, after := args.text("match"), args.text("health"), args.text("after")
	all.Items = slices.DeleteFunc(all.Items, func(g api.GraphSummary) bool {
		fits, err := path.Match(match, g.Graph)
		return match != "" && (err != nil || !fits) || health != "" && g.Health != health
	})
	slices.SortStableFunc(all.Items, func(a, b api.GraphSummary) int { return strings.Compare(order(&a), order(&b)) })
	out := briefs{Items: []brief{}, Graphs: len(all.Items), Missing: all.Missing}
	most, err := strconv.Atoi(args.text("limit"))
	if most = min(most, 200); err != nil || most < 1 {
		most = 50
	}
	last := ""
	for i := range all.Items {
		g := &all.Items[i]
		if after != "" && order(g) <= after {
			continue
		}
		if len(out.Items) == most {
			out.Next = last
			break
		}
		last = order(g)
		out.Items = append(out.Items, brief{g.Graph, g.Health, g.HealthReason, g.Paused, g.WaitingFor, g.Epoch,
			g.LastFiredAt, g.EpochsPerSecond, g.Counters})
	}
	var b bytes.Buffer
	if json.NewEncoder(&b).Encode(out) != nil {
		return answer
	}
	return bytes.TrimSpace(b.Bytes())
}

// order is the place of a graph in such a list, which is where the list goes on, too.
func order(g *api.GraphSummary) string {
	if api.Severity(g.Health) > 0 {
		return "0." + g.Graph
	}
	return "1." + g.Graph
}
