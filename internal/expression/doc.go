// Package expression compiles the small expressions of a declaration
// (conditions, shapes, node bodies) and evaluates them over boundary values.
//
// The language is that of github.com/expr-lang/expr: its parser reads the text
// and its checker finds type mistakes when a declaration is validated.
// Evaluation is the project's own. A checked syntax tree becomes a tree of Go
// closures over [boundary.Value], so that
//
//   - numbers behave one way everywhere: integers stay integers, an overflow, a
//     division by zero or a result that is not finite is the error not_finite;
//   - a read of something that has not arrived stops the evaluation with
//     [ErrAbsent], but only when evaluation gets there;
//   - nothing reads a clock, a random source, a time zone of the machine or the
//     order of a Go map;
//   - work and memory are bounded, whatever the text and the values are;
//   - scalar expressions allocate nothing.
//
// The machine that comes with the language serves as the oracle of the tests.
// docs/expressions.md is the user's page; its examples are run by a test.
//
// # The way through the package
//
//	p, err := expression.Compile("(book.bid + book.ask) / 2", scope) // text and types → program
//	p.Bind(0, shape)                                                 // reads of book go through slots
//	v, err := p.Eval(&env)                                           // once per epoch
//
// [Compile] goes through parse.go (limits, syntax), validate.go (names, what is
// allowed here), check.go and signature.go (types), then package eval, which
// makes closures; infer.go tells the static [Type] of the result. Below are
//
//   - eval: compiling to closures and running them;
//   - library: the table of functions, where adding one is adding a line;
//   - rules: what every operator means on any two values.
//
// # Absence and null
//
// An absent value never arrived or lies on a route not taken; null is a value
// like any other. A field that a present object does not have is null. A
// program never returns an absent value without an error.
//
// # Concurrency
//
// The package starts no goroutine. A [Program] is immutable after Bind and may
// be evaluated by many goroutines at once, each with its own [Env].
package expression
