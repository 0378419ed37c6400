// Package supervisor owns what runs: it starts goroutines under names, joins
// them, shows them, and restarts what fails.
//
// Three things work together:
//
//   - a [Tree] is the live register of everything that runs, one [Node] a line;
//   - a [Group] starts goroutines below a node and joins them; nothing in the
//     daemon is started with a bare go statement that no one waits for;
//   - [Supervise] runs one piece again and again until it is done, with a
//     growing pause after each failure, and gives up after too many in a row.
//
// A daemon's start reads like this:
//
//	tree := supervisor.NewTree(time.Now)
//	graphs := tree.Root("graphd").NewGroup()
//	task := graphs.Supervise(ctx, supervisor.Config{
//		Name:   "default/market_maker",
//		Policy: supervisor.DefaultPolicy(),
//		Run:    run,
//	})
//	...
//	graphs.Stop()
//	err := graphs.WaitDeadline(30 * time.Second) // names what would not stop
//
// # Concurrency
//
// A Group starts one goroutine for each [Group.Go] and joins it in [Group.Wait]
// or [Group.WaitDeadline]; [Supervise] starts none and works on the goroutine of
// its caller, so that one piece's pause never delays another's. Cancellation is
// a tree: a task's context ends with the context it was started under, with its
// group, or by itself, and never because a sibling ended. All methods of Tree,
// Node, Group, Task and Restarter may be called concurrently.
package supervisor
