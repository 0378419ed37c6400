// What all actions have: they are done when somebody says so, and say what has come of it.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { set } from "./route.js"
import { whyNot } from "./who.js"

/** post sends a command to a graph. */
export const post = (s, verb, body = {}) => ask("POST", graphPath(s.graph, "/" + verb), { body: JSON.stringify(body) })

/** useDoing is what is done when somebody says so: once at a time, with what it has come to or why it has not. */
export const useDoing = go => {
	const [is, put] = useState({})
	const run = async () => {
		put({ busy: true })
		try {
			put({ done: await go() })
		} catch (no) {
			put({ trouble: no.message, no })
		}
	}
	return { ...is, run, clear: () => put({}) }
}

/** Panel is an action: what it will do, what it is done with, and what it has done; it takes a permission. */
export const Panel = ({ title, label, needs = "operate", doing, off, children }) => {
	const no = whyNot(needs)
	const head = useRef()
	useEffect(() => head.current?.focus({ preventScroll: true }), [])
	return html`<section class="act" aria-label=${title}>
		<div class="bar"><h2 tabindex="-1" ref=${head}>${title}</h2>
			<button class="quiet" aria-label="Close" onClick=${() => set({ do: "" })}>✕</button></div>
		${children}
		${no && html`<p class="refused">${no}.</p>`}
		<p class="actions"><button class="main" disabled=${doing.busy || off || no} onClick=${doing.run}>${label}</button></p>
		<div role="status">${doing.busy ? html`<p>It is being done …</p>` : doing.done && html`<div class="did">${doing.done}</div>`}</div>
		${doing.trouble && html`<p class="bad" role="alert">${doing.trouble}</p>`}
	</section>`
}
