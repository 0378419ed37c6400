package faults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/segmentio/kafka-go"

	"github.com/graphd/graphd/internal/testbed"
)

// twoTopics writes what it reads of two topics as rows, in the commit of its state, so that
// each event that counts is there once.
const twoTopics = `graph: topics
accumulators:
  events:
    source: { kafka: { brokers: [%s], topics: [%s, %s], start: earliest } }
    emit: '{ "n": event, "topic": meta.topic, "partition": meta.partition }'
    strategy: sequential
outputs:
  rows: { from: events, sink: { postgres: { table: events } } }
durability: { interval: 50ms }
`

// skipped is the answer to skip-lost.
type skipped struct {
	Skipped []struct {
		Stream, From, To, Reason string
		Events                   *int64
	}
}

// TestM44TopicMadeAnewOfTheProcess: a topic that is deleted and made anew under its name
// halts its graph, whether the new one has fewer records than were read or more, and whether
// the daemon is up or down meanwhile. The command that lets it go on says from where to where
// each partition's gap is; all that the new topic holds is read once, whenever it was
// written, also when the process is killed as soon as it has answered. A topic that was left
// alone goes on where it was.
func TestM44TopicMadeAnewOfTheProcess(t *testing.T) {
	for _, up := range []bool{true, false} {
		t.Run(fmt.Sprintf("up %v", up), func(t *testing.T) {
			t.Parallel()
			topicMadeAnew(t, up)
		})
	}
}

func topicMadeAnew(t *testing.T, up bool) {
	brokers := testbed.Kafka(t)
	anew, alone := testbed.Topic(t, brokers, 2), testbed.Topic(t, brokers, 1)
	const table = "create table events (n bigint not null, topic text not null, partition bigint not null)"
	store, db := database(t, table)
	written := map[string]int{} // by topic, partition and number: how often it must be there
	write := func(topic string, partition, from, to int) {
		var values []string
		for n := from; n < to; n++ {
			values = append(values, fmt.Sprint(n))
			written[fmt.Sprintf("%s/%d: %d", topic, partition, n)] = 1
		}
		testbed.Produce(t, brokers, topic, partition, values...)
	}
	write(anew, 0, 0, 40)
	write(anew, 1, 0, 5)
	write(alone, 0, 0, 20)

	quoted := `"` + strings.Join(brokers, `", "`) + `"`
	dir := declare(t, "topics", fmt.Sprintf(twoTopics, quoted, anew, alone))
	args := []string{"--store", store, "--lease", "2s"}
	p := start(t, dir, args...)
	var s summary // a later one may be of a daemon that has lost its lease for a moment
	through := func(n int64) {
		t.Helper()
		if !p.waitFor(stuck, func() bool {
			s = p.summary("topics")
			return s.Counters.Consumed >= n && s.Outputs[0].Pending == 0
		}) {
			t.Fatalf("%d are through: not within %v: %+v\n%s", n, stuck, s, p.log)
		}
	}
	through(65)
	if !up {
		if err := p.stop(); err != nil {
			t.Fatal(err)
		}
	}
	testbed.DeleteTopic(t, brokers, anew)
	testbed.CreateTopic(t, brokers, kafka.TopicConfig{Topic: anew, NumPartitions: 2, ReplicationFactor: len(brokers)})
	write(anew, 0, 100, 110) // fewer than before
	write(anew, 1, 100, 130) // more
	if !up {
		p = start(t, dir, args...)
	}
	p.until("it is halted", stuck, func() bool {
		s = p.summary("topics")
		return s.Health == "halted"
	})
	why := s.HealthReason
	if why.Code != "source_data_lost" || !strings.Contains(why.Detail, "made anew") || s.Counters.Consumed != 65 {
		t.Errorf("%+v", s)
	}
	write(anew, 0, 200, 210)
	write(alone, 0, 200, 210)

	var answer skipped
	var err error
	p.until("what is lost is skipped", stuck, func() bool { // it may have no lease for a moment
		err = p.do("POST", "/v1/graphs/topics/skip-lost", `{"accumulator":"events"}`, &answer)
		return err == nil || !strings.Contains(err.Error(), "graph_standby")
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, p.log)
	}
	p.kill()
	if len(answer.Skipped) != 2 {
		t.Fatalf("gaps %+v", answer)
	}
	for _, g := range answer.Skipped {
		at := map[string]string{anew + "/0": "@40", anew + "/1": "@5"}[g.Stream]
		if at == "" || !strings.HasSuffix(g.From, at) || !strings.HasSuffix(g.To, "@0") || g.Events != nil ||
			g.Reason != "made_anew" {
			t.Errorf("gap %+v", g)
		}
	}
	write(anew, 1, 200, 210)
	p = start(t, dir, args...)
	through(135)
	if s.balanced() != nil || s.Counters.Consumed != 135 {
		t.Errorf("%+v", s)
	}
	if err := p.stop(); err != nil {
		t.Errorf("the daemon did not stop cleanly: %v\n%s", err, p.log)
	}
	rows, err := db.Query(t.Context(), "select topic || '/' || partition || ': ' || n, count(*) from events group by 1")
	if err != nil {
		t.Fatal(err)
	}
	var what string
	var times int
	if _, err := pgx.ForEachRow(rows, []any{&what, &times}, func() error {
		if written[what] != times {
			t.Errorf("%s is there %d times, want %d", what, times, written[what])
		}
		delete(written, what)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(written) > 0 {
		t.Errorf("%d of the events are not there: %v", len(written), written)
	}
}
