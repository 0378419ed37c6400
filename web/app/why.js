// Why an epoch ran and what has become of what it gave, and why nothing comes: both in the daemon's words.
import { html, useEffect, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set, Link, toGraph } from "./route.js"
import { Code, Waiting } from "./parts.js"
import { brief, count, exact, seconds, some, stamped } from "./format.js"

/** useWhy is why an epoch ran, asked for once; nothing where its id is "". */
export const useWhy = (graph, id) => {
	const [got, put] = useState({})
	useEffect(() => {
		if (!id) return
		const ends = new AbortController(), [shard, epoch] = id.split("/")
		ask("GET", graphPath(graph, `/why?epoch=${epoch}` + (shard !== "0" ? "&shard=" + shard : "")), { signal: ends.signal }).then(
			value => put({ id, value }), no => no.name !== "AbortError" && put({ id, trouble: no.message }))
		return () => ends.abort()
	}, [graph, id])
	return got.id === id ? got : {}
}

/** Read is what a guard or a condition has read. */
export const Read = ({ values }) => html`<dl class="facts read">${Object.entries(values ?? {}).map(([name, value]) =>
	html`<dt>${name}</dt><dd><code>${brief(value, 200)}</code></dd>`)}</dl>`

const states = { new: ["good", "new"], cached: ["idle", "as before"], default: ["idle", "its default"], absent: ["idle", "absent"] }

/** Taken says what an input was to an epoch. */
export const Taken = ({ i }) => {
	const [look, word] = states[i.state] ?? ["idle", i.state]
	return html`<span class=${"badge " + look}>${word}</span> <span class="dim">${i.state === "new" ? some(i.events, "event") :
		i.since_epoch ? `since epoch ${exact(i.since_epoch)}` + (i.age_seconds == null ? "" : `, for ${seconds(i.age_seconds)}`) : ""}</span>`
}

const fates = { silent: "idle", watched: "good", held: "wait", pending: "wait", dead_letter: "bad", delivered: "good" }

/** Fate says what has become of what an output gave. */
export const Fate = ({ o }) => html`<span class=${"badge " + (fates[o.fate] ?? "idle")}>${o.fate.replace("_", " ")}</span>
	<span class="dim">${o.because?.detail ?? o.detail}</span>`

/** Ids are what leads from what an output gave to where it has gone. */
export const Ids = ({ o }) => html`${o?.firing_id && html`<p class="dim">firing id <code>${o.firing_id}</code>${o.letter && html`, dead letter <code>${o.letter}</code>`}</p>`}`

const spans = [["", "ever"], ["10m", "the last 10 min"], ["1h", "the last hour"], ["1d", "the last day"]]

/** WhyNot asks why nothing comes, of the graph, of an output or of a key. */
export const WhyNot = ({ s }) => {
	const open = query("silent") === "1", output = query("silent-output"), key = query("silent-key"), since = query("silent-since")
	const [got, put] = useState({}), [turn, again] = useState(0)
	useEffect(() => {
		if (!open) return
		const ends = new AbortController(), q = new URLSearchParams()
		for (const [name, value] of [["output", output], ["key", key], ["since", since]]) if (value) q.set(name, value)
		const wait = setTimeout(() => ask("GET", graphPath(s.graph, "/why-not?" + q), { signal: ends.signal }).then(
			value => put({ value }), no => no.name !== "AbortError" && put({ trouble: no.message })), got.value ? 300 : 0)
		return () => {
			clearTimeout(wait)
			ends.abort()
		}
	}, [s.graph, open, output, key, since, turn])
	if (!open) return html`<section aria-labelledby="silent"><div class="bar"><h2 id="silent">Nothing comes?</h2>
		<button onClick=${() => set({ silent: "1" })}>Ask why not</button></div></section>`
	const w = got.value
	return html`<section aria-labelledby="silent">
		<div class="bar"><h2 id="silent">Why nothing comes</h2>
			<span><button onClick=${() => again(turn + 1)}>Ask again</button> <button class="quiet" aria-label="Close"
				onClick=${() => set({ silent: "", "silent-output": "", "silent-key": "", "silent-since": "" })}>✕</button></span></div>
		<div class="choice">
			<label>Of <select value=${output} onChange=${event => set({ "silent-output": event.target.value }, true)}>
				<option value="">any output</option>${s.outputs.map(o => html`<option value=${o.name}>${o.name}</option>`)}</select></label>
			<label>Since <select value=${since} onChange=${event => set({ "silent-since": event.target.value }, true)}>
				${spans.map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
			${s.keys && html`<label>Key <input type="search" value=${key} size="10"
				onInput=${event => set({ "silent-key": event.target.value }, true)} /></label>`}
		</div>
		${got.trouble ? html`<div class="notice bad" role="alert"><p>${got.trouble}</p></div>` : !w ? html`<${Waiting} />` : html`
			<p class="says" role="status"><strong>${w.sentence}</strong></p>
			<${Reasons} name="Now" list=${w.now} none="Nothing stands in the way." />
			<${Reasons} name=${"The newest " + some(w.looked, "epoch")} list=${w.epochs} none="None of them was silent." graph=${s.graph} />
			<${Reasons} name="Events and cuts that came to nothing" list=${w.refused} none="None is known of." />
			${Object.keys(w.counts ?? {}).length > 0 && html`<p class="dim">In all, since the graph began to run: ${Object.entries(
				w.counts).map(([code, n]) => `${count(n)} ${code.replaceAll("_", " ")}`).join(", ")}.</p>`}`}
	</section>`
}

const Reasons = ({ name, list, none, graph }) => html`<h3>${name}</h3>
	${!list?.length ? html`<p class="dim">${none}</p>` : html`<ul class="reasons">${list.map(b => html`<li>
		<${Code} code=${b.code} /> ${b.detail}
		${b.epochs > 0 && html` <span class="dim">${some(b.epochs, "epoch")}, the newest <${Link}
			href=${toGraph(graph, { epoch: String(b.epoch), shard: b.shard ? String(b.shard) : "" })}>${exact(b.epoch)}<//></span>`}
		${b.key != null && html` <span class="dim">key <code>${brief(b.key, 40)}</code></span>`}
		${b.until && html` <span class="dim">until ${stamped(b.until)}</span>`}
		${b.do && html`<p class="dim">${b.do}</p>`}
		${b.values && html`<${Read} values=${b.values} />`}</li>`)}</ul>`}`
