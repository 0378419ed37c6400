package kafka

import (
	"fmt"
	"strings"

	"github.com/graphd/graphd/internal/boundary"
	"github.com/graphd/graphd/internal/kafkanet"
)

// generation says in which of the topics that had a name one after another a position
// is: offsets of one mean nothing in another. In a position it follows the stream's name
// after a "#": the topic's id, or a witness where the brokers know no ids. Positions of
// earlier versions have neither, and are believed once.
type generation struct {
	id      kafkanet.TopicID
	witness witness
}

// witness is a record that was read before the position: a topic that was made anew has
// another one there, or none.
type witness struct {
	known  bool
	offset int64
	epoch  int32 // of the leader that took it in
	millis int64 // its time
}

// String is what follows the "#"; "" when nothing is known.
func (g generation) String() string {
	switch {
	case !g.id.IsZero():
		return g.id.String()
	case g.witness.known:
		return fmt.Sprintf("%d.%d.%d", g.witness.offset, g.witness.epoch, g.witness.millis)
	}
	return ""
}

// parseGeneration is the inverse of String.
func parseGeneration(text string) (g generation, ok bool) {
	if g.id, ok = kafkanet.ParseTopicID(text); ok {
		return g, true
	}
	w := &g.witness
	if _, err := fmt.Sscanf(text, "%d.%d.%d", &w.offset, &w.epoch, &w.millis); err != nil {
		return generation{}, false
	}
	w.known = true
	return g, g.String() == text
}

// place is a position taken apart.
type place struct {
	topic  string
	id     int
	gen    generation
	offset int64
}

func (p place) stream() string { return streamOf(p.topic, p.id) }

// position is the inverse of parsePlace.
func (p place) position() boundary.Position {
	return boundary.Position{Stream: streamIn(p.stream(), p.gen), Offset: p.offset}
}

// streamIn names a stream of one generation.
func streamIn(stream string, gen generation) string {
	if text := gen.String(); text != "" {
		return stream + "#" + text
	}
	return stream
}

// parsePlace takes a position apart.
func parsePlace(pos boundary.Position) (p place, ok bool) {
	stream, gen, marked := strings.Cut(pos.Stream, "#")
	if p.topic, p.id, ok = parseStream(stream); !ok {
		return p, false
	}
	if marked {
		p.gen, ok = parseGeneration(gen)
	}
	p.offset = pos.Offset
	return p, ok
}

// parsePlaces takes positions apart, by stream.
func parsePlaces(positions []boundary.Position) (map[string]place, error) {
	out := make(map[string]place, len(positions))
	for _, pos := range positions {
		p, ok := parsePlace(pos)
		if !ok {
			return nil, fmt.Errorf("the position %s is not one of this version: a newer graphd has written it; "+
				"run that, or rewind the accumulator to an offset", pos)
		}
		out[p.stream()] = p
	}
	return out, nil
}

// Behind implements reader.Ordered: the offsets of a partition have an order, those of topics that had its name one
// after another have none. Where a partition begins that was never read is known if that is its first record.
func (s *Source) Behind(a, b boundary.Position) (behind, known bool) {
	if a.IsZero() {
		return true, s.cfg.Start.At == "" || s.cfg.Start.At == "earliest"
	}
	return a.Offset < b.Offset, a.Stream == b.Stream // which has the generation
}
