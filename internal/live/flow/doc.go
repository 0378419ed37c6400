// Package flow is what a reactor does under the event clock (M26): it folds the events of all
// accumulators itself, in the order of their times, as a bounded run does. Engine time is the
// greatest time of an event that was folded. On the way from one event to the next it goes
// through every timer that is due, each at its own time, and before it goes on the graph comes
// to rest: what fires at an instant has fired before the next is looked at.
//
// What has not been folded waits in the accumulators' [pump.Line], bounded. So a reactor that may
// not fire, for whatever reason, takes in nothing either; but for a pause, in which it goes on
// within the bounds of the inputs (M11).
//
// A source of which it is known that there is more to come holds the others back while nothing of
// it is here, unless it is disconnected or has given nothing for a while. So does one that can look whether
// there is more, from when something of another comes until it has looked (decision 0111). When all have been
// silent for that while, engine time goes on by the monotonic clock from where it stood, so that
// timers fire and the last windows close.
package flow
