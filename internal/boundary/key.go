package boundary

// KeyOf makes a key: the canonical JSON of one value, or of the list of several.
// Values that are equal make the same key. Without values it is "".
func KeyOf(values ...Value) Key {
	switch len(values) {
	case 0:
		return ""
	case 1:
		return Key(values[0].String())
	}
	return Key(List(values).String())
}

// Value is the value, or the list of values, that the key was made of; times and
// durations come back as strings. It is absent for "" and for what is no key.
func (k Key) Value() Value {
	if k == "" {
		return Value{}
	}
	v, err := NewDecoder(nil, Limits{MaxBytes: len(k), MaxDepth: MaxDepth}).Decode([]byte(k))
	if err != nil {
		return Value{}
	}
	return v
}
