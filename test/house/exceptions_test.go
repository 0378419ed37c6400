package house

// largePackages are the packages beyond the limit, with a ceiling of their own: those with a
// decision stay as they are for the reason that it gives, those without are to be split.
var largePackages = []struct {
	dir      string
	ceiling  int
	decision string // the number of an entry of docs/decisions
}{
	{"bench", 2750, ""},
	{"internal/expression/eval", 2600, ""},
	{"internal/graph", 2950, ""},
	{"internal/graphrun", 3050, ""},
	{"internal/reactor", 5100, ""},
	{"internal/spec", 3900, ""},
}

// longFiles are the files beyond the limit, with a ceiling of their own.
var longFiles = map[string]int{
	"internal/boundary/decode_test.go":      450,
	"internal/dal/postgres/faults_test.go":  450,
	"internal/engine/ownership_test.go":     480,
	"internal/engine/supervision_test.go":   470,
	"internal/expression/memory_test.go":    440,
	"internal/expression/eval/compile.go":   420,
	"internal/reactor/epoch_test.go":        430,
	"internal/live/inbox.go":                430,
	"internal/live/reactor.go":              460,
	"internal/live/writer.go":               440,
	"internal/sink/kafka/kafka_test.go":     600,
	"internal/supervisor/supervise_test.go": 460,
}

// wideLineAllowance is how many wide lines a package still has. It only shrinks.
var wideLineAllowance = map[string]int{
	"":                                   35,
	"bench":                              53,
	"cmd/graphd":                         71,
	"cmd/graphd/internal/handbook":       4,
	"cmd/graphd/internal/remote":         49,
	"cmd/graphd/internal/terminal":       3,
	"examples":                           1,
	"examples/embedded":                  1,
	"internal/accumulator":               73,
	"internal/accumulator/pump":          17,
	"internal/accumulator/window":        31,
	"internal/accumulator/aggregate":     15,
	"internal/accumulator/eventschema":   6,
	"internal/boundary":                  27,
	"internal/boundary/rawjson":          8,
	"internal/builtin":                   14,
	"internal/checkpoint":                1,
	"internal/checkpoint/checkpointtest": 32,
	"internal/client":                    43,
	"internal/compile":                   24,
	"internal/dal/memory":                14,
	"internal/dal/postgres":              91,
	"internal/dal/rules":                 5,
	"internal/dal/sqlite":                73,
	"internal/dal/sqlite/sqlconn":        1,
	"internal/differential":              6,
	"internal/engine":                    196,
	"internal/expression":                142,
	"internal/expression/eval":           1,
	"internal/expression/library":        28,
	"internal/faults":                    59,
	"internal/feed":                      6,
	"internal/graph":                     40,
	"internal/graphrun":                  79,
	"internal/job":                       23,
	"internal/kafkanet":                  1,
	"internal/watch":                     6,
	"internal/lease":                     6,
	"internal/outbound":                  8,
	"internal/live":                      30,
	"internal/reactor":                   78,
	"internal/server":                    153,
	"internal/server/socket":             17,
	"internal/server/wire":               19,
	"internal/sink/file":                 4,
	"internal/sink/kafka":                18,
	"internal/sink/postgres":             12,
	"internal/sink/sinktest":             1,
	"internal/sink/stdout":               2,
	"internal/sink/webhook":              12,
	"internal/source/file":               17,
	"internal/source/generator":          3,
	"internal/source/kafka":              32,
	"internal/source/poll":               11,
	"internal/source/wsclient":           8,
	"internal/spec":                      183,
	"internal/spec/internal/document":    6,
	"internal/spec/internal/metaschema":  3,
	"internal/spec/internal/reference":   3,
	"internal/spec/internal/suggest":     2,
	"internal/supervisor":                13,
	"internal/telemetry":                 17,
	"internal/testbed":                   2,
	"internal/testbed/server":            6,
	"test/daemon":                        16,
	"test/docs":                          1,
	"test/examples":                      14,
	"test/house":                         12,
}

// impureFiles are the files of a pure package that wait for their move to another.
var impureFiles []string
