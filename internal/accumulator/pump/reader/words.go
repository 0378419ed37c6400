package reader

import "github.com/graphd/graphd/internal/accumulator"

// Health implements [accumulator.Out].
func (s *session) Health(h accumulator.Health, detail string) {
	s.take()
	defer s.end()
	s.said.health, s.said.code, s.said.detail = h, "", detail
	s.each(func(_ int, m *member) { m.out.Health(h, detail) })
}

// Trouble implements [accumulator.Troubled].
func (s *session) Trouble(code, detail string) {
	s.take()
	defer s.end()
	s.said.code, s.said.detail = code, detail
	s.each(func(_ int, m *member) { accumulator.Trouble(m.out, code, detail) })
}

// CaughtUp implements [accumulator.Pace].
func (s *session) CaughtUp(stream string, caughtUp bool) {
	s.take()
	defer s.end()
	s.said.caughtUp(stream, caughtUp)
	s.each(func(_ int, m *member) {
		if m.reads(stream) {
			m.caughtUp(stream, caughtUp)
		}
	})
}

// Asked implements [accumulator.Asker].
func (s *session) Asked() <-chan struct{} { return s.r.asked }

// Look implements [accumulator.Asker].
func (s *session) Look() int64 {
	s.looks++
	s.all(func(i int, m *member) { s.asked[i] = accumulator.AskerOf(m.out).Look() })
	return s.looks
}

// Looked implements [accumulator.Asker]. A look that another has begun after answers nobody.
func (s *session) Looked(look int64) {
	if look == s.looks {
		s.all(func(i int, m *member) { accumulator.AskerOf(m.out).Looked(s.asked[i]) })
	}
}
