// Package expression compiles the small expressions of a declaration
// (conditions, shapes, node bodies) and evaluates them over boundary values.
//
// The language is that of github.com/expr-lang/expr: its parser reads the text
// and its checker finds type mistakes when a declaration is validated.
// Evaluation is this package's own. A checked syntax tree becomes a tree of Go
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
// # The way through the package
//
//	c, err := expression.Compile("(book.bid + book.ask) / 2", scope) // text and types → program
//	c.Bind(0, shape)                                                 // reads of book go through slots
//	v, err := c.Eval(&env)                                           // once per epoch
//
// [Compile] goes through parse.go (limits, syntax), validate.go (names,
// what is allowed here), check.go (types) and compile.go (closures; one file
// per family of nodes). functions.go is the table of functions: adding one is
// adding a line there. infer.go tells the static type of the result.
//
// # Absence and null
//
// An absent value never arrived or lies on a route not taken; null is a value
// like any other. A field that a present object does not have is null. Inside
// the package an absent result of a closure means "stopped", and Env.err says
// why; a program never returns an absent value without an error.
//
// # Concurrency
//
// The package starts no goroutine. A [Program] is immutable after [Program.Bind]
// and may be evaluated by many goroutines at once, each with its own [Env].
package expression
