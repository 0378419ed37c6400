package scenario

// losses are what a graph has lost so far.
type losses struct{ letters, failed, late int64 }

func (p *player) losses() losses {
	l := losses{letters: int64(len(p.g.Letters()))}
	v := p.g.Core().Look()
	for _, n := range v.Stats().Epochs {
		l.failed += n[0]
	}
	for i := range v.Inputs {
		if late, ok := p.g.LateDrops(i); ok {
			l.late += late.Events
		}
	}
	return l
}

// expectLoss compares one of them, and notes that the case speaks of it.
func (p *player) expectLoss(line int, what string, is, want int64, told *int64) {
	if want < 0 {
		return
	}
	*told = want
	if is != want {
		p.fail(line, "there are %d %s, expected %d", is, what, want)
	}
}

// lost fails a case that has lost something of which none of its steps speaks. Who expects dead
// letters need not say that an epoch failed for them.
func (p *player) lost(line int) {
	const hint = "; say so with expect: { %s: %d }, or strict: false"
	is := p.losses()
	if is.letters > p.told.letters {
		l := &p.g.Letters()[p.told.letters]
		p.fail(line, "a dead letter that no step expects, of %s: %s: %s: %.80s"+hint, l.Accumulator, l.Code, l.Reason,
			l.Payload, "dead_letters", is.letters)
	} else if is.failed > p.told.failed && p.told.letters == 0 {
		p.fail(line, "an epoch failed, and no step expects it"+hint, "failed_epochs", is.failed)
	}
	if is.late > p.told.late {
		p.fail(line, "%d events came too late for their window or join, and no step expects it"+hint, is.late, "late",
			is.late)
	}
}
