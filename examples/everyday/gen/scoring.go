package gen

import (
	"fmt"
	"hash/fnv"
)

type request struct {
	ID     string `json:"id"`
	Amount int64  `json:"amount"`
}

// A Score is what a relay hands on of the scoring service's answer: null where there was none in the end.
type Score struct {
	ID    string `json:"id"`
	Score *int64 `json:"score"`
}

// Ask asks the scoring service, which fails the first time for some and always for others.
func Ask(id string, attempt int) (score int64, answers bool) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	sum := h.Sum32() >> 3
	return int64(sum % 100), sum%23 != 0 && (attempt > 1 || sum%7 != 0)
}

// Relay asks up to three times.
func Relay(id string) Score {
	for attempt := range 3 {
		if s, ok := Ask(id, attempt+1); ok {
			return Score{id, &s}
		}
	}
	return Score{ID: id}
}

// Scoring asks a scoring service about each request and routes it by the answer: from 80 on it is blocked, from 50
// on reviewed, and reviewed too where the service does not answer. What the service says stands among the inputs,
// as it was recorded; who asks a real one leaves it out. It has a fortieth of the size: it is about waiting.
func Scoring(size int) Task {
	t := Task{Name: "scoring", Want: map[string][]any{}}
	for i := range size / 40 {
		id, at := fmt.Sprintf("r%05d", i), Base+int64(i)*1000
		t.Items = append(t.Items, Item{"requests", id, at, request{id, int64(100 + i%900)}})
		score := Relay(id)
		t.Items = append(t.Items, Item{"scores", id, at + 20, score})
		output, value := "passed", map[string]any{"id": id, "score": any(nil)}
		if score.Score != nil {
			value["score"] = *score.Score
		}
		switch {
		case score.Score == nil || *score.Score >= 50 && *score.Score < 80:
			output = "reviewed"
		case *score.Score >= 80:
			output = "blocked"
		}
		t.Want[output] = append(t.Want[output], value)
	}
	return t
}
