package main

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed q*.yaml
var declarations embed.FS

// A query is one of the benchmark's.
type query struct {
	name, title string
	inputs      []string // the streams that it reads
	plain       func(*plain)
	// live has a daemon write the files that the declaration names.
	live bool
	// newest is what a value is the newest of, where a later one stands for those before; nil: each stands for itself.
	newest func(value map[string]any) string
	// differs is what is not as in the benchmark's SQL; "" for nothing.
	differs string
}

func queries() []query {
	bid := []string{"bid"}
	both := []string{"auction", "bid"}
	endOfDay := "told at the end of the day; in SQL whenever it changes"
	return []query{
		{name: "q0", title: "pass through", inputs: bid, plain: plain0},
		{name: "q1", title: "currency conversion", inputs: bid, plain: plain1},
		{name: "q2", title: "selection", inputs: bid, plain: plain2},
		{name: "q3", title: "local item suggestion", inputs: []string{"auction", "person"}, plain: plain3,
			differs: "sellers of the last 24 hours; in SQL of all time"},
		{name: "q4", title: "average price for a category", inputs: both, plain: plain4,
			differs: "told when an auction closes; in SQL with every higher bid"},
		{name: "q5", title: "hot items", inputs: bid, plain: plain5,
			differs: "one value for each window, with a list; in SQL a row for each auction"},
		{name: "q6", title: "average selling price by seller", inputs: both, plain: plain6,
			differs: "told when an auction closes; Flink's SQL cannot say it (FLINK-19059)"},
		{name: "q7", title: "highest bid", inputs: bid, plain: plain7,
			differs: "one value for each window, with at most ten bids of the highest price"},
		{name: "q8", title: "monitor new users", inputs: []string{"auction", "person"}, plain: plain8},
		{name: "q9", title: "winning bids", inputs: both, plain: plain9,
			differs: "told when an auction closes; in SQL with every higher bid"},
		{name: "q10", title: "log to file system", inputs: bid, plain: plain10, live: true},
		{name: "q11", title: "user sessions", inputs: bid, plain: plain11},
		{name: "q12", title: "processing time windows", inputs: bid, plain: plain12,
			differs: "a run over files has no times of arrival: it makes up one event a millisecond"},
		{name: "q13", title: "bounded side input join", inputs: []string{"bid", "side"}, plain: plain13},
		{name: "q14", title: "calculation", inputs: bid, plain: plain14},
		{name: "q15", title: "bidding statistics report", inputs: bid, plain: plain15, differs: endOfDay},
		{name: "q16", title: "channel statistics report", inputs: bid, plain: plain16, differs: endOfDay},
		{name: "q17", title: "auction statistics report", inputs: bid, plain: plain17, differs: endOfDay},
		{name: "q18", title: "find last bid", inputs: bid, plain: plain18, newest: func(value map[string]any) string {
			b, _ := value["value"].(map[string]any)
			return fmt.Sprint(b["bidder"], b["auction"])
		}},
		{name: "q19", title: "auction top 10 price", inputs: bid, plain: plain19, differs: endOfDay + ", for all days"},
		{name: "q20", title: "expand bid with auction", inputs: both, plain: plain20,
			differs: "auctions of the last 24 hours; in SQL of all time"},
		{name: "q21", title: "add channel id", inputs: bid, plain: plain21},
		{name: "q22", title: "get URL directories", inputs: bid, plain: plain22},
		{name: "q23", title: "multi-join", inputs: []string{"auction", "bid", "person"}, plain: plain23,
			differs: "what lies within 24 hours; in SQL of all time"},
	}
}

func (q *query) declaration() ([]byte, error) { return declarations.ReadFile(q.name + ".yaml") }

// length is how many lines the declaration has, without what is empty or a comment.
func (q *query) length() (n int, err error) {
	text, err := q.declaration()
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			n++
		}
	}
	return n, err
}
