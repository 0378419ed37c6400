// Package wire is what REST and WebSocket have in common: it checks and cuts the JSON
// that comes in, follows a push over its batches, and encodes problems and results.
// The hot paths are written out by hand; nothing here does any I/O, and nothing starts
// a goroutine.
//
// The scanner ([Validate], [SkipValue]) never recurses and copies nothing, so that
// hostile nesting and large bodies cost no more than their bytes. What an event must
// look like beyond being JSON is the accumulator's to say.
package wire
