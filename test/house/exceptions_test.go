package house

// largePackages are the packages beyond the limit, with a ceiling of their own: those with a
// decision stay as they are for the reason that it gives, those without are to be split.
var largePackages = []struct {
	dir      string
	ceiling  int
	decision string // the number of an entry of docs/decisions
}{
	{"bench", 2800, ""},
	{"internal/expression/eval", 2600, ""},
	{"internal/graph", 2950, ""},
	{"internal/graphrun", 3250, ""},
	{"internal/live", 3080, "0047"},
	{"internal/reactor", 5200, "0047"},
}

// longFiles are the files beyond the limit, with a ceiling of their own.
var longFiles = map[string]int{
	"internal/accumulator/aggregate/aggregate_test.go": 402,
	"internal/boundary/decode_test.go":                 460,
	"internal/dal/postgres/faults_test.go":             501,
	"internal/dal/sqlite/process_test.go":              423,
	"internal/engine/ownership_test.go":                550,
	"internal/engine/supervision_test.go":              480,
	"internal/expression/memory_test.go":               440,
	"internal/expression/eval/compile.go":              420,
	"internal/live/inbox.go":                           440,
	"internal/live/writer.go":                          440,
	"internal/reactor/epoch_test.go":                   430,
	"internal/sink/kafka/kafka_test.go":                605,
	"internal/source/kafka/lost_test.go":               450,
	"internal/supervisor/supervise_test.go":            462,
}

// wideLineAllowance is how many wide lines a package still has. It only shrinks.
var wideLineAllowance = map[string]int{
	"internal/accumulator":               73,
	"internal/accumulator/aggregate":     15,
	"internal/accumulator/eventschema":   6,
	"internal/accumulator/pump":          16,
	"internal/accumulator/window":        31,
	"internal/boundary":                  27,
	"internal/boundary/rawjson":          7,
	"internal/builtin":                   8,
	"internal/checkpoint":                2,
	"internal/checkpoint/checkpointtest": 37,
	"internal/compile":                   24,
	"internal/dal/memory":                14,
	"internal/dal/postgres":              102,
	"internal/dal/rules":                 7,
	"internal/dal/sqlite":                96,
	"internal/dal/sqlite/sqlconn":        1,
	"internal/differential":              6,
	"internal/engine":                    107,
	"internal/expression":                144,
	"internal/expression/eval":           1,
	"internal/expression/library":        28,
	"internal/faults":                    65,
	"internal/feed":                      5,
	"internal/graph":                     40,
	"internal/graphrun":                  76,
	"internal/job":                       23,
	"internal/kafkanet":                  1,
	"internal/lease":                     6,
	"internal/live":                      34,
	"internal/outbound":                  8,
	"internal/reactor":                   77,
	"internal/sink/file":                 4,
	"internal/sink/kafka":                18,
	"internal/sink/postgres":             12,
	"internal/sink/sinktest":             1,
	"internal/sink/stdout":               2,
	"internal/sink/webhook":              12,
	"internal/source/file":               17,
	"internal/source/generator":          3,
	"internal/source/kafka":              27,
	"internal/source/poll":               11,
	"internal/source/wsclient":           8,
	"internal/spec":                      68,
	"internal/spec/internal/document":    6,
	"internal/spec/internal/metaschema":  3,
	"internal/spec/internal/reference":   3,
	"internal/spec/internal/suggest":     2,
	"internal/supervisor":                13,
	"internal/testbed":                   2,
	"internal/testbed/server":            6,
	"internal/virtual":                   4,
	"internal/watch":                     6,
	"test/daemon":                        16,
}
