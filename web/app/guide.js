// A short look around at the graph of the demo: what fired and why, force it, break it, see it recover. Whoever does not
// want it says so once.
import { html, useEffect, useRef, useState, signal } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set } from "./route.js"
import { Waiting } from "./parts.js"
import { may } from "./who.js"
import { exact } from "./format.js"

const kept = "guide", over = "over"
const stored = () => { try { return localStorage.getItem(kept) ?? "" } catch { return "" } }

/** at is the step that one is at: "" before the first, and over when there is nothing more to show. */
const at = signal(stored())
const goTo = step => {
	at.value = String(step)
	try { localStorage.setItem(kept, at.value) } catch { /* then it is offered again */ }
}

/** isDemo says that a graph is the one of the demo. */
const isDemo = s => s.graph === "market_maker" && s.description === "Quote an edge when the book and the model disagree." &&
	["orderbook", "pricing", "limits"].every(name => s.accumulators.some(a => a.name === name))

const show = (id, members) => {
	set(members)
	setTimeout(() => document.getElementById(id)?.scrollIntoView({ block: "start" }), 100)
}

const newest = m => m.firings.rows.find(f => !f.gap)
const letters = s => s.counters.dead_lettered
const isStopped = s => s.accumulators.some(a => a.name === "orderbook" && a.stopped) || s.health_reason?.code === "part_stopped"
const push = (s, event) => ask("POST", graphPath(s.graph, "/accumulators/limits/events"), { body: JSON.stringify(event) })
const part = (s, verb) => ask("POST", graphPath(s.graph, "/" + verb), { body: `{"accumulator":"orderbook"}` })

/**
 * steps are what is shown: each with what there is to see, what is done with its button, and when one has seen it. began
 * is how the graph stood when the step began.
 */
const steps = [{
	name: "It moves",
	says: () => `Two inputs bring made-up data, an order book and a model. Whenever one of them has something new the reactor fires an epoch:
		the nodes that read it are computed, and what comes of it goes to the outputs. In the picture a green frame has just been computed.`,
}, {
	name: "What fired, and why",
	says: () => "Each epoch is kept with its reasons: which input was new, what the guard read, what each node came to, and what " +
		"became of the outputs.",
	button: () => "Open the newest epoch",
	go: (s, m) => set({ epoch: String(newest(m)?.epoch ?? ""), shard: "" }),
	seen: () => query("epoch") !== "",
	done: "It stands beside the picture, which is as it was in that epoch. ✕ there leads back to now.",
}, {
	name: "And why not",
	says: () => "The output signals is silent while book and model agree. Why nothing comes can be asked as well.",
	button: () => "Ask why signals is silent",
	go: () => show("silent", { epoch: "", silent: "1", "silent-output": "signals" }),
	seen: () => query("silent") === "1",
	done: "The route decide has taken hold: the edge was below the threshold.",
}, {
	name: "Force it",
	says: () => "An epoch can be fired by hand, on what there is or on values of yours. What it does is said before and after.",
	button: () => "Open Fire",
	go: () => { set({ silent: "", "silent-output": "", do: "fire" }); scrollTo(0, 0) },
	seen: (s, m, began) => m.firings.rows.some(f => !f.gap && f.cause === "force" && f.epoch > began.epoch),
	done: "That was one. In the list of firings its cause is force.",
}, {
	name: "Break it",
	says: () => "Somebody sends a threshold that is a word. It cannot be used, so it becomes a dead letter, with its reason; the " +
		"graph goes on with the threshold that it had.",
	button: () => "Send it",
	go: s => push(s, { threshold: "much" }),
	seen: (s, m, began) => letters(s) > began.letters,
	done: "There it is, under Dead letters. Once what is wrong is mended, such events can be replayed.",
	then: ["Show dead letters", () => show("letters", { do: "", letters: "1" })],
}, {
	name: "See it recover",
	says: s => isStopped(s) ? "The health says at once what is wrong, and what to do. The epochs go on with what the model brings." :
		"Now the order book goes away.",
	button: s => isStopped(s) ? "Bring it back" : "Stop the order book",
	go: s => {
		set({ letters: "", do: "" })
		scrollTo(0, 0)
		return part(s, isStopped(s) ? "start" : "stop")
	},
	seen: (s, m, began) => began.stopped && !isStopped(s),
	done: "It is well again, and has gone on where it was. That is all: the next thing is a graph of your own.",
}]

/** Guide is the look around, offered once to who sees the graph of the demo and may do what it shows. */
export const Guide = ({ s, m }) => {
	if (!isDemo(s) || at.value === over || !may("operate") || !may("push")) return null
	if (!steps[Number(at.value)] || at.value === "") return html`<section class="guide" aria-label="A look around">
		<p><strong>New here?</strong> A look around takes two minutes: what fired, why, force it, break it, see it recover.</p>
		<p class="actions"><button class="main" onClick=${() => goTo(0)}>Look around</button>${" "}
			<button onClick=${() => goTo(over)}>No, thanks</button></p></section>`
	return html`<${Step} key=${at.value} s=${s} m=${m} n=${Number(at.value)} />`
}

const Step = ({ s, m, n }) => {
	m.beat.value
	const step = steps[n], head = useRef(), last = n === steps.length - 1
	const [is, put] = useState({})
	const began = useRef({ epoch: s.epoch, letters: letters(s), stopped: false })
	if (isStopped(s)) began.current.stopped = true
	const [seen, see] = useState(!step.seen)
	useEffect(() => { if (!seen && step.seen(s, m, began.current)) see(true) })
	useEffect(() => {
		head.current?.focus({ preventScroll: true })
		document.documentElement.classList.add("guided") // what has the focus is not beneath the guide
		return () => document.documentElement.classList.remove("guided")
	}, [])
	const go = async () => {
		put({ busy: true })
		try {
			await step.go(s, m)
			put({})
		} catch (no) {
			put({ trouble: no.message })
		}
	}
	return html`<section class="guide" aria-label="A look around">
		<div class="bar"><h2 tabindex="-1" ref=${head}>${step.name} <small>${exact(n + 1)} of ${steps.length}</small></h2>
			<button class="quiet" onClick=${() => goTo(over)}>Leave</button></div>
		<p>${step.says(s)}</p>
		<div role="status">${step.seen && seen && html`<p class="good">✓ ${step.done}</p>`}${is.busy && html`<${Waiting}>It is being done …<//>`}</div>
		${is.trouble && html`<p class="bad" role="alert">${is.trouble}</p>`}
		<p class="actions">
			${step.button && !seen && html`<button class="main" disabled=${is.busy} onClick=${go}>${step.button(s)}</button>${" "}`}
			${seen && step.then && html`<button onClick=${step.then[1]}>${step.then[0]}</button>${" "}`}
			${last && seen && html`<a href="/docs/getting-started">Your first graph</a>${" "}`}
			<button class=${seen ? "main" : ""} onClick=${() => goTo(last ? over : n + 1)}>${last ? "Close" : seen ? "Go on" : "Skip"}</button>
			${n > 0 && html`${" "}<button class="quiet" onClick=${() => goTo(n - 1)}>Back</button>`}</p>
	</section>`
}
