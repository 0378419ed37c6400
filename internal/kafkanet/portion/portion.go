// Package portion says which partitions of topics a source reads, where it has a part of them (M49).
package portion

import (
	"fmt"
	"strconv"
)

// Portion is the partitions whose number modulo so many is one that Has says. The zero Portion is all of them.
type Portion struct {
	Of  int
	Has func(remainder int) bool
}

// Reads reports whether a partition is among them.
func (p *Portion) Reads(id int) bool { return p.Of == 0 || p.Has(id%p.Of) }

// Family names the partitions of a topic that are new to the same reader together: where there is a part each
// remainder has a reader of its own, which may come long after the others.
func (p *Portion) Family(topic string, id int) string {
	if p.Of == 0 {
		return topic
	}
	return topic + "/" + strconv.Itoa(id%p.Of)
}

// UnevenError says that the keys of a topic cannot be in the partitions in which they are looked for.
type UnevenError struct {
	Topic          string
	Partitions, Of int
	Grown          bool // they were before
}

// Code is what the health says.
func (e *UnevenError) Code() string {
	if e.Grown {
		return "partitions_changed"
	}
	return "partitions_uneven"
}

func (e *UnevenError) Error() string {
	more := (e.Partitions/e.Of + 1) * e.Of
	has := "has"
	if e.Grown {
		has = "now has"
	}
	return fmt.Sprintf("topic %s %s %d partitions, which is no multiple of the %d shards that its keys are dealt to: "+
		"nothing is read of it until it has %d; or apply the graph without partitioned under another name", e.Topic,
		has, e.Partitions, e.Of, more)
}

// Even checks that the keys of a topic with so many partitions are where they are looked for; known says of a family
// that it was read before. Nil: they are.
func (p *Portion) Even(topic string, partitions int, known map[string]bool) *UnevenError {
	if p.Of == 0 || partitions%p.Of == 0 {
		return nil
	}
	grown := false
	for id := range p.Of {
		grown = grown || known[p.Family(topic, id)]
	}
	return &UnevenError{Topic: topic, Partitions: partitions, Of: p.Of, Grown: grown}
}
