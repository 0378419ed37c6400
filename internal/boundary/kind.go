package boundary

// Kind says what a [Value] is.
type Kind uint8

// The kinds of values. The zero Kind is that of the zero Value.
const (
	KindAbsent   Kind = iota // nothing has arrived, or there is no such field
	KindNull                 // JSON's null
	KindBool                 // true or false
	KindInt                  // an integer that fits int64
	KindFloat                // any other number; always finite
	KindString               // text
	KindTime                 // an instant, in nanoseconds since 1970, UTC
	KindDuration             // a span of time in nanoseconds
	KindList                 // values in order
	KindObject               // values by name
	KindTable                // what refers to rows by key, see [Rows]
)

// String names the kind as messages to users do.
func (k Kind) String() string {
	switch k {
	case KindAbsent:
		return "absent"
	case KindNull:
		return "null"
	case KindBool:
		return "bool"
	case KindInt:
		return "int"
	case KindFloat:
		return "float"
	case KindString:
		return "string"
	case KindTime:
		return "time"
	case KindDuration:
		return "duration"
	case KindList:
		return "list"
	case KindObject:
		return "object"
	case KindTable:
		return "table"
	}
	return "unknown"
}
