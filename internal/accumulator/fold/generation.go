package fold

// Generation is whose a piece of a state is. A folder owns what has its present generation, and may write to it; a
// snapshot ends that, and what another generation owns, of this folder or of one before it, is copied before it is
// written to. Each is another than all others of the process; nil is nobody's.
type Generation struct{ _ byte } // of a size, so that no two have one address
