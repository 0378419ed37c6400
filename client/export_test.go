package client

// Full says that the stream writes nothing before another of its frames is answered.
func (s *PushStream) Full() bool { return len(s.room) == cap(s.room) }
