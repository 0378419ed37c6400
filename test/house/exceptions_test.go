package house

// largePackages are the packages beyond the limit, with a ceiling of their own: those with a
// decision stay as they are for the reason that it gives, those without are to be split.
var largePackages = []struct {
	dir      string
	ceiling  int
	decision string // the number of an entry of docs/decisions
}{
	{"internal/live", 3080, "0047"},
	{"internal/reactor", 5200, "0047"},
	{"bench", 2800, ""},
	{"internal/expression/eval", 2600, ""},
	{"internal/graph", 2750, ""},
	{"internal/graphrun", 3300, ""},
}

// longFiles are the files beyond the limit, with a ceiling of their own.
var longFiles = map[string]int{
	"internal/boundary/decode_test.go":      500,
	"internal/dal/postgres/faults_test.go":  550,
	"internal/dal/sqlite/process_test.go":   470,
	"internal/dal/sqlite/writer_test.go":    490,
	"internal/engine/ownership_test.go":     580,
	"internal/engine/supervision_test.go":   500,
	"internal/expression/memory_test.go":    470,
	"internal/expression/eval/compile.go":   450,
	"internal/live/inbox.go":                470,
	"internal/live/writer.go":               470,
	"internal/reactor/epoch_test.go":        460,
	"internal/sink/kafka/kafka_test.go":     650,
	"internal/source/kafka/lost_test.go":    480,
	"internal/supervisor/supervise_test.go": 510,
}

// wideLineAllowance is how many wide lines a package still has. It only shrinks.
var wideLineAllowance = map[string]int{
	"internal/accumulator":           84,
	"internal/accumulator/aggregate": 27,
	"internal/accumulator/pump":      20,
	"internal/accumulator/window":    29,
	"internal/dal/postgres":          15,
	"internal/dal/sqlite":            13,
	"internal/engine":                119,
	"internal/expression":            147,
	"internal/faults":                18,
	"internal/graph":                 52,
	"internal/graphrun":              87,
	"internal/job":                   33,
	"internal/live":                  46,
	"internal/reactor":               86,
	"internal/spec":                  80,
	"test/house":                     14,
}
