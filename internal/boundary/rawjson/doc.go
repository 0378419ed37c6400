// Package rawjson is JSON as text: checking it strictly, finding things in text that
// has been checked, and writing strings and numbers canonically. It knows no values;
// package boundary makes them.
//
// A [Scanner] checks. It does not recurse, so that no depth of nesting exhausts the
// stack, and it notes on its way what makes later work cheaper: whether a text is
// canonical, that is written as boundary.Value.AppendJSON would write it.
//
// [Fields], [Items] and [Find] walk text that a Scanner has found valid, and check nothing.
//
// All of them work on strings and on indexes into them, and cut substrings out of them
// rather than copy. Nothing here is shared between goroutines unless the caller does so.
package rawjson
