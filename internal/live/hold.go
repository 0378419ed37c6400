package live

// hold keeps every handoff waiting at the door; healths pass.
func (b *Inbox) hold() {
	b.mu.Lock()
	b.held = true
	b.mu.Unlock()
}

// open lets them in.
func (b *Inbox) open() {
	b.mu.Lock()
	b.held = false
	b.mu.Unlock()
	for i := range b.lanes {
		b.signal(i)
	}
}

// Close lets everybody go who still waits for a ticket: nobody will say what became of it.
func (b *Inbox) Close() { b.journaled.End(ErrStopped) }
