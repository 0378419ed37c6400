// Package decode is what the parts of a declaration are read with: strictly, with every
// mistake reported at its place in the document.
//
// A kind of source, sink, node or accumulator reads its own configuration with it. Its
// fields are a table of [Field], one for each field of the mapping; [Object] reads the
// mapping by the table, and [Decoder] has a method for each thing that a field can hold:
//
//	var fields = []decode.Field[Config]{
//		{Name: "topic", Need: true, Read: func(d *decode.Decoder, v decode.Value, c *Config) {
//			c.Topic, _ = d.Text(v, "the name of a topic")
//		}},
//		{Name: "every", Read: func(d *decode.Decoder, v decode.Value, c *Config) { d.Duration(v, 1, &c.Every) }},
//	}
//
// What cannot be read is reported and left as it was. What a field means together with
// another one is looked at after the mapping, by what [Object] says was given, and reported
// with [Decoder.Report] at a [Place] of the document. A diagnostic says what is wrong and
// what to do, on one line; its code is stable, and docs/diagnostics.md explains it.
//
// Values may hold references to the environment and to secrets (${NAME}): the methods
// resolve them, and no diagnostic shows what they resolve to.
package decode
