package socket

import (
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/graphd/graphd/internal/api"
	"github.com/graphd/graphd/internal/server/wire"
)

// member is one of the members a client's frame can have.
type member uint8

const (
	memberType member = iota
	memberID
	memberData
	memberCommand
	memberTopics
	memberSince
	memberCache
	memberReplace
	memberKey
	memberN
	memberOnlyChanged
	memberTraceparent
	memberWhere
	memberSample
	memberCount
)

// memberNames are the members' names on the wire, in the order of the constants.
var memberNames = [memberCount]string{"type", "id", "data", "command", "topics", "since", "cache", "replace", "key",
	"n", "only_changed", "traceparent", "where", "sample"}

func memberOf(name []byte) (member, bool) {
	for m, n := range memberNames {
		if string(name) == n {
			return member(m), true
		}
	}
	return 0, false
}

// frame is a client's frame, its members as raw JSON within the bytes it was parsed
// from; nil where the frame does not have the member.
type frame [memberCount][]byte

// frameError is why a frame cannot be used, in the words of an error frame.
type frameError struct{ code, detail string }

// maxID bounds an id in bytes; it comes back in every reply.
const maxID = 64

// parse reads a frame strictly: one JSON object, known members only, each once. Of a frame that
// it refuses it finds the id all the same, so that the client learns which request is meant.
func (f *frame) parse(raw []byte, maxDepth int) *frameError {
	bad := f.read(raw, maxDepth)
	if bad != nil {
		f[memberID] = findID(raw)
	}
	return bad
}

func (f *frame) read(raw []byte, maxDepth int) *frameError {
	// The frame's own braces do not count against the depth of what it carries.
	if bad := wire.Validate(raw, min(maxDepth+1, wire.MaxDepth)); bad.Is() {
		return &frameError{bad.Code, wire.NotJSON("frame", bad).Detail}
	}
	i := wire.SkipSpace(raw, 0)
	if raw[i] != '{' {
		return &frameError{api.CodeInvalidFrame, "a frame is a JSON object"}
	}
	for i = wire.SkipSpace(raw, i+1); raw[i] != '}'; {
		end, _ := wire.SkipString(raw, i) // valid: checked above, as all below
		name := raw[i+1 : end-1]
		start := wire.SkipSpace(raw, wire.SkipSpace(raw, end)+1)
		end, _ = wire.SkipValue(raw, start, wire.MaxDepth)
		m, known := memberOf(name)
		switch {
		case !known:
			return &frameError{api.CodeInvalidFrame, fmt.Sprintf("unknown member %q", wire.Clip(string(name)))}
		case f[m] != nil:
			return &frameError{api.CodeDuplicateKey, fmt.Sprintf("member %q is given twice", memberNames[m])}
		}
		f[m] = raw[start:end]
		if i = wire.SkipSpace(raw, end); raw[i] == ',' {
			i = wire.SkipSpace(raw, i+1)
		}
	}
	if id := f[memberID]; id != nil && !usableID(id) {
		return &frameError{
			api.CodeInvalidFrame, fmt.Sprintf("id must be a number or a string of %d bytes at most", maxID),
		}
	}
	return nil
}

// usableID says whether a value can stand as the id of replies.
func usableID(id []byte) bool {
	return len(id) <= maxID && id[0] != '{' && id[0] != '[' && utf8.Valid(id)
}

// findID is the id of a frame that may be broken in any way, nil where none can be made out:
// it stands behind what is broken, or cannot stand in a reply itself.
func findID(raw []byte) []byte {
	i := wire.SkipSpace(raw, 0)
	if i == len(raw) || raw[i] != '{' {
		return nil
	}
	for i = wire.SkipSpace(raw, i+1); i < len(raw) && raw[i] == '"'; {
		end, bad := wire.SkipString(raw, i)
		if bad.Is() {
			return nil
		}
		name := raw[i+1 : end-1]
		if i = wire.SkipSpace(raw, end); i == len(raw) || raw[i] != ':' {
			return nil
		}
		start := wire.SkipSpace(raw, i+1)
		if end, bad = wire.SkipValue(raw, start, wire.MaxDepth); bad.Is() {
			return nil
		}
		if string(name) == memberNames[memberID] {
			if id := raw[start:end]; usableID(id) {
				return id
			}
			return nil
		}
		if i = wire.SkipSpace(raw, end); i == len(raw) || raw[i] != ',' {
			return nil
		}
		i = wire.SkipSpace(raw, i+1)
	}
	return nil
}

// only refuses members that a frame of its type does not have.
func (f *frame) only(kind string, known ...member) *frameError {
	for m := range memberCount {
		if f[m] == nil || m == memberType || m == memberID || slices.Contains(known, m) {
			continue
		}
		return &frameError{api.CodeInvalidFrame, fmt.Sprintf("%s has no member %q", kind, memberNames[m])}
	}
	return nil
}

// text is the string a member holds. Its type names and commands have no escapes, so that
// one with escapes is none of them.
func (f *frame) text(m member) string {
	if raw := f[m]; len(raw) >= 2 && raw[0] == '"' {
		return string(raw[1 : len(raw)-1])
	}
	return ""
}
