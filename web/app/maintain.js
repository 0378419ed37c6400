// What keeps a graph going, or has it begin anew. Each says what it will do before it is done, and what it has done.
import { html, useState } from "./vendor.js"
import { query, set } from "./route.js"
import { exact, list, nothing, seconds, some, stamped } from "./format.js"
import { Doc } from "./parts.js"
import { Panel, post, useDoing } from "./act.js"
import { may, whyNot } from "./who.js"

/** last is the last checkpoint, in words. */
const last = ({ durability: d }) => d.checkpoint_age_seconds == null ? "There has been none yet" :
	`The last one covers epoch ${exact(d.checkpoint_epoch)} and is ${seconds(Math.floor(d.checkpoint_age_seconds))} old`

const Checkpoint = ({ s }) => {
	const doing = useDoing(async () => {
		const is = await post(s, "checkpoint")
		return html`<p>A checkpoint that covers epoch ${exact(is.checkpoint_epoch)} is durable.</p>`
	})
	return html`<${Panel} title=${"Checkpoint of " + s.graph} label="Take a checkpoint" doing=${doing}>
		<p>What there is of the graph behind epoch ${exact(s.epoch)} is written to the store, and the graph goes on meanwhile. ${last(s)}.
			${s.durability.mode === "none" && " Its durability is none: a start does not go on from it."}</p><//>`
}

const Drain = ({ s }) => {
	const pending = s.outputs.reduce((n, o) => n + o.pending, 0), queued = s.counters.queued
	const doing = useDoing(async () => {
		const was = s.epoch, is = await post(s, "drain")
		return html`<p>${is.paused ? "Nothing fires while it is paused" : `Nothing is left to fire now${is.epoch > was ? `, behind ${
			some(is.epoch - was, "epoch")} more` : ""}`}, the outputs have delivered, and a checkpoint covers epoch ${
			exact(is.durability.checkpoint_epoch)}.${is.due_at ? ` What waits for a timer may fire at ${stamped(is.due_at)}.` : ""}${
			is.counters.queued ? ` ${some(is.counters.queued, "value waits", "values wait")} ${is.paused ? "until it is resumed" :
			"for what the criteria ask for"}.` : ""}</p>`
	})
	return html`<${Panel} title=${"Drain " + s.graph} label="Drain" doing=${doing}>
		<p>${s.paused ? "It is paused, so nothing fires" : `It fires until nothing is left to fire now${queued ? ` (${some(queued, "value waits",
			"values wait")} at the inputs)` : ""}`}; then the outputs deliver what they have${pending ? ` (${some(pending, "value")})` : ""}, and a
			checkpoint is taken. What waits for a timer is not waited for. Nothing is stopped: what comes meanwhile is taken too. After 30 s
			it says what is left.</p><//>`
}

/** Input chooses one of inputs, which the address has. */
const Input = ({ of, now, none }) => html`<label>Input <select value=${now} onChange=${event => set({ input: event.target.value }, true)}>
	${none && html`<option value="">${none}</option>`}${of.map(a => html`<option value=${a.name}>${a.name}</option>`)}</select></label>`

const ended = ["failed", "halted", "stopped"]

const Restart = ({ s }) => {
	const input = s.accumulators.find(a => a.name === query("input"))
	const doing = useDoing(async () => {
		const is = await post(s, "restart", input ? { accumulator: input.name } : {})
		const a = is.accumulators.find(x => x.name === input?.name)
		return html`<p>${a ? html`<strong>${a.name}</strong> has begun anew, and is ${a.health}.` : `It has begun anew, behind epoch ${
			exact(is.epoch)}, with start number ${exact(is.incarnation)}, and is ${is.health}.`}</p>`
	})
	return html`<${Panel} title=${"Restart " + s.graph} label="Restart" doing=${doing}>
		<div class="choice"><${Input} of=${s.accumulators} now=${input?.name ?? ""} none="all of the graph" /></div>
		<p>${input ? html`<strong>${input.name}</strong> lets go of its source and begins anew behind what the graph has of it. Its siblings go on.` :
			s.durability.mode === "none" ? "It ends and begins anew without what it has: its durability is none." :
			ended.includes(s.health) ? `It begins anew from its last checkpoint. ${last(s)}.` :
			"It ends as when its daemon is stopped, with a checkpoint, and begins anew from that. What is pushed meanwhile waits."}
			${" "}Its attempts are counted from none again.</p><//>`
}

/** hasLost says of an input that it waits for somebody to let it go on without what its source has lost. */
const hasLost = a => a.health_reason?.code === "source_data_lost"

/** Lost leads from such an input to that. */
export const Lost = ({ a }) => hasLost(a) && may("operate") && html` <button class="link"
	onClick=${() => set({ do: "skip-lost", input: a.name })}>Skip what is lost …</button>`

const SkipLost = ({ s }) => {
	const lost = s.accumulators.filter(hasLost)
	const input = lost.find(a => a.name === query("input")) ?? lost[0]
	const doing = useDoing(async () => {
		const is = await post(s, "skip-lost", { accumulator: input.name })
		return html`<p><strong>${input.name}</strong> goes on behind what is lost:</p><ul class="reasons">${is.skipped.map(g => html`<li>
			${g.stream}${g.shard ? ` of shard ${g.shard}` : ""}: from <code>${g.from}</code> to <code>${g.to ?? nothing}</code>, ${g.events == null ?
			"nobody knows how many events" : some(g.events, "event")} (${g.reason.replaceAll("_", " ")})</li>`)}</ul>`
	})
	return html`<${Panel} title=${"Skip what is lost to " + s.graph} label="Skip what is lost" doing=${doing} off=${!input}>
		${lost.length > 1 && html`<div class="choice"><${Input} of=${lost} now=${input.name} /></div>`}
		${input ? html`<p><strong>${input.name}</strong> goes on with what its source has now, and without what that has lost. Where it goes
			on is durable before this is answered, and cannot be taken back.</p><p class="dim">${input.health_reason.detail}</p>` :
			html`<p>No input waits for that: none has found that its source has lost something.</p>`}<//>`
}

/** Sure asks for the name of the graph, as what cannot be undone does. */
const Sure = ({ s, is, put }) => html`<p><label>The name of the graph, to confirm it <input name="confirm" value=${is} autocomplete="off"
	spellcheck="false" onInput=${event => put(event.target.value)} /></label></p>`

const readsAgain = a => a.health !== "socket_only" && a.source !== "node" && a.source !== "join"

const Rewind = ({ s }) => {
	const of = s.accumulators.filter(readsAgain), input = of.find(a => a.name === query("input")) ?? of[0]
	const [to, setTo] = useState("start"), [sure, setSure] = useState("")
	const doing = useDoing(async () => {
		const is = await post(s, `accumulators/${encodeURIComponent(input.name)}/rewind`, { position: to.trim(), confirm: sure })
		const a = is.accumulators.find(x => x.name === input.name)
		return html`<p><strong>${input.name}</strong> reads on from <code>${to.trim()}</code>${a?.position && a.position !== input.position &&
			html`, and is at <code>${a.position}</code>`}.</p>`
	})
	return html`<${Panel} title=${"Rewind " + s.graph} label="Rewind" needs="author" doing=${doing} off=${!input || !to.trim() || sure !== s.graph}>
		${!input ? html`<p>No input of this graph can be read again: what was pushed is kept nowhere, and nodes are fed by others.</p>` : html`
		<div class="choice"><${Input} of=${of} now=${input.name} /><label>Position <input name="position" value=${to} autocomplete="off"
			spellcheck="false" onInput=${event => setTo(event.target.value)} /></label></div>
		<p><strong>${input.name}</strong> reads its source again from there${input.position && html`; it is at <code>${input.position}</code>`}.
			${" "}<code>start</code> is the beginning. What is read twice counts twice, and what it causes happens again. <${Doc}
			to="operations#commands">What a position is<//></p>
		<${Sure} s=${s} is=${sure} put=${setSure} />`}<//>`
}

const Reset = ({ s }) => {
	const [sure, setSure] = useState("")
	const doing = useDoing(async () => {
		const is = await post(s, "reset", { confirm: sure })
		setSure("")
		return html`<p>All state is gone. It has begun anew with start number ${exact(is.incarnation)}, and its epochs are
			numbered on: ${exact(is.epoch)} was the last when this was answered.</p>`
	})
	const read = s.accumulators.filter(readsAgain).map(a => a.name)
	return html`<${Panel} title=${"Reset " + s.graph} label="Reset" needs="author" doing=${doing} off=${sure !== s.graph}>
		<p><strong class="warn">All state is taken from it</strong>, as if it had never run: values, queues, open windows and batches, positions and
			books${s.keys?.count ? `, of ${some(s.keys.count, "key")}` : ""}. ${read.length ? `${list(read)} ${read.length === 1 ? "is" : "are"} read from
			the beginning.` : "No source is read again."} The declaration, the history, dead letters, the numbers of epochs, a pause and what is
			stopped stay.</p>
		<${Sure} s=${s} is=${sure} put=${setSure} /><//>`
}

/** others are these, each with who may, what it is called, and what for. */
const others = {
	checkpoint: [Checkpoint, "operate", "Checkpoint", "have what there is written to the store"],
	drain: [Drain, "operate", "Drain", "have all that waits fired and delivered"],
	restart: [Restart, "operate", "Restart", "end it, or one of its inputs, and have it begin anew"],
	"skip-lost": [SkipLost, "operate", "Skip what is lost", "let an input go on behind what its source has lost"],
	rewind: [Rewind, "author", "Rewind", "have an input read its source again"],
	reset: [Reset, "author", "Reset", "take all state from it"],
}

const More = ({ s }) => {
	const mine = Object.entries(others).filter(([, [, needs]]) => may(needs))
	return html`<section class="act" aria-label="More that can be done"><div class="bar"><h2>More that can be done</h2>
		<button class="quiet" aria-label="Close" onClick=${() => set({ do: "" })}>✕</button></div>
		${mine.length === 0 && html`<p class="refused">${whyNot("operate")}.</p>`}
		<ul class="verbs">${mine.map(([id, [, , name, why]]) => html`<li><button onClick=${() => set({ do: id, mode: "", input: "" })}>${name} …</button>
			${" "}${why}${id === "skip-lost" && s.accumulators.some(hasLost) && html` <span class="badge bad">✖ ${list(s.accumulators.filter(hasLost).
			map(a => a.name))}</span>`}</li>`)}</ul></section>`
}

/** maintaining are the panels of what is here. */
export const maintaining = { more: More, ...Object.fromEntries(Object.entries(others).map(([id, [of]]) => [id, of])) }
