// What can be done with a graph by hand. Each says what it will do before it is done, and what it has done afterwards.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath, parse } from "./api.js"
import { query, set, Link, toGraph } from "./route.js"
import { brief, exact, list, own, some } from "./format.js"
import { Panel, post, useDoing } from "./act.js"
import { may } from "./who.js"
import { Push } from "./push.js"
import { maintaining } from "./maintain.js"

/** waits is how much waits at the inputs. */
const waits = s => s.accumulators.reduce((n, a) => n + a.depth + (a.waiting ?? 0), 0)

const Pause = ({ s }) => {
	const doing = useDoing(async () => {
		const is = await post(s, "pause")
		return html`<p>Paused behind epoch ${exact(is.epoch)}.</p>`
	})
	const least = [...s.accumulators].filter(a => a.capacity > 0).sort((a, b) => (a.capacity - a.depth) - (b.capacity - b.depth))[0]
	return html`<${Panel} title=${"Pause " + s.graph} label="Pause" doing=${doing} off=${s.paused}>
		<p>Behind epoch ${exact(s.epoch)} nothing fires until it is resumed, also when the daemon is started anew. Events are taken in the
			meantime${least && html`: <strong>${least.name}</strong> has room for ${exact(least.capacity - least.depth)}, and then holds up
			what feeds it`}.</p><//>`
}

const Resume = ({ s }) => {
	const doing = useDoing(async () => {
		const is = await post(s, "resume")
		return html`<p>It fires again, at epoch ${exact(is.epoch)}.</p>`
	})
	return html`<${Panel} title=${"Resume " + s.graph} label="Resume" doing=${doing} off=${!s.paused}>
		<p>${waits(s) ? `${some(waits(s), "value waits", "values wait")}: what meets the criteria fires at once.` :
			"Nothing waits: it fires with what comes."}</p><//>`
}

const Step = ({ s }) => {
	const [n, setN] = useState("1")
	const doing = useDoing(async () => {
		const was = s.epoch, is = await post(s, "step", { n: Number(n) })
		return html`<p>${is.epoch > was ? `It has run ${some(is.epoch - was, "epoch")}, to ${exact(is.epoch)}` :
			"No epoch has run yet: nothing that waits meets the criteria"}. It is paused still.</p>`
	})
	return html`<${Panel} title=${"Step " + s.graph} label="Step" doing=${doing} off=${!s.paused || !(n > 0)}>
		<p>It runs so many epochs at most of what waits (${some(waits(s), "value")}), as if it were not paused.</p>
		<label>Epochs <input type="number" min="1" max="1000000" value=${n} onInput=${event => setN(event.target.value)} /></label><//>`
}

/** keyOf is a key as the API takes it: JSON, or a text as it is. */
const keyOf = text => {
	try {
		return parse(text)
	} catch { return text }
}

/** read is a text of JSON that is an object, or why it is none. */
const read = text => {
	try {
		const value = parse(text)
		return value && typeof value === "object" && !Array.isArray(value) ? { value } : { why: "It must be an object: a value for each input." }
	} catch (no) { return { why: no.message } }
}

const modes = [["force", "with what there is"], ["with", "with values of your own, which stay"], ["aside", "aside, with values of your own"]]

const Fire = ({ s, m }) => {
	m.beat.value
	const mode = modes.some(([id]) => id === query("mode")) ? query("mode") : "force"
	const last = m.live.state?.key
	const [key, setKey] = useState(s.keys && last != null ? JSON.stringify(last) : ""), [only, setOnly] = useState(false)
	const [text, setText] = useState(null), [is, put] = useState({}), typed = useRef(false)
	const ofKey = s.keys ? key : ""
	useEffect(() => { // what there is of the key, which is what one begins with
		if (!typed.current) setText(null) // what there is of another key is not what this one begins with
		if (s.keys && !ofKey) return
		const ends = new AbortController()
		const wait = setTimeout(() => ask("GET", graphPath(s.graph, "/state" + (ofKey ? "?key=" + encodeURIComponent(ofKey) : "")),
			{ signal: ends.signal }).then(state => {
			put({ state })
			if (!typed.current) setText(JSON.stringify(state.cache, null, 2))
		}, no => no.name !== "AbortError" && put({ why: no.message })), 200)
		return () => {
			clearTimeout(wait)
			ends.abort()
		}
	}, [s.graph, ofKey])
	const given = mode === "force" ? {} : read(text ?? "{}")
	const doing = useDoing(async () => {
		const k = s.keys ? { key: keyOf(key) } : {}
		const did = await post(s, "fire", mode === "force" ? { mode: "force", only_changed: only, ...k } :
			{ mode: "with", cache: given.value, replace: mode === "with", ...k })
		return html`<${Fired} did=${did} s=${s} aside=${mode === "aside"} />`
	})
	return html`<${Panel} title=${"Fire " + s.graph} label=${mode === "aside" ? "Fire aside" : "Fire"} doing=${doing}
		off=${given.why || s.keys && !key}>
		<div class="choice"><label>Fire <select value=${mode} onChange=${event => {
			doing.clear()
			set({ mode: event.target.value === "force" ? "" : event.target.value }, true)
		}}>${modes.map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
			${s.keys && html`<label>Key <input type="search" value=${key} onInput=${event => setKey(event.target.value)} /></label>`}
			${mode === "force" && html`<label><input type="checkbox" checked=${only} onChange=${event => setOnly(event.target.checked)} />
				only what changes is put out</label>`}</div>
		${s.keys && !key && html`<p class="dim">Type the key that is to fire: each has state of its own.</p>`}
		${mode === "force" ? html`<${Forced} s=${s} state=${s.keys ? is.state : m.live.state} only=${only} />` : html`
			<label>A value for each input, as JSON <textarea rows="8" spellcheck="false" value=${text ?? ""}
				onInput=${event => {
					typed.current = true
					setText(event.target.value)
				}} /></label>
			${is.why && html`<p class="dim">What there is is not known: ${is.why}</p>`}
			${given.why ? html`<p class="bad" role="alert">${given.why}</p>` : html`<${With} s=${s} was=${is.state?.cache} is=${given.value}
				aside=${mode === "aside"} />`}`}<//>`
}

const gives = s => s.outputs.length ? html`: ${s.outputs.map((o, i) => html`${i > 0 && ", "}<strong>${o.name}</strong> to ${o.sink}`)}` : ""

const Forced = ({ s, state, only }) => {
	const fresh = s.accumulators.filter(a => own(state?.dirty, a.name) ?? a.dirty).map(a => a.name)
	return html`<p>An epoch runs now, whatever the criteria, the guard, the rate and a pause say. ${fresh.length ? `It takes what is new of ${
		list(fresh)}, of a queue the first.` : "Nothing is new: it runs on what the last epoch had."}</p>
		<p>${only ? "Outputs put out what changes" : "Every output puts out its current value"}${gives(s)}.</p>`
}

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b)

/** With says what an epoch with given values sets, and what that means for what there is. */
const With = ({ s, was, is, aside }) => {
	const names = [...new Set([...s.accumulators.map(a => a.name), ...Object.keys(is)])]
	const rows = names.map(name => [name, own(was, name), own(is, name)]).filter(([, before, after]) => !same(before, after) &&
		(after !== undefined || !aside && before !== undefined))
	return html`<p>${aside ? "An epoch runs on a copy, with these values in place of those there are. Nothing of the graph changes, and what the " +
		"outputs give goes out" : "An epoch runs on these values, and they stay: they are what the next epoch begins with. What waits in queues " +
		"stays. What changes goes out"}${gives(s)}.</p>
		${rows.length === 0 ? html`<p class="dim">All values are those there are.</p>` : html`<ul class="reasons">${rows.map(([name, before, after]) => html`<li>
			<strong>${name}</strong> <code>${brief(before, 60)}</code> → ${after === undefined ? html`<em>none</em>` :
			html`<code>${brief(after, 60)}</code>`}</li>`)}</ul>`}`
}

const Fired = ({ did, s, aside }) => {
	const outs = Object.entries(did.outputs ?? {})
	return html`<p><${Link} href=${toGraph(s.graph, { epoch: String(did.epoch), shard: did.shard ? String(did.shard) : "" })}>
		Epoch ${exact(did.epoch)}<//> ran${aside && " aside"}: ${did.ok ? html`<span class="good">✓ ok</span>` :
		html`<span class="badge bad">✖ failed</span> ${did.error}`}. ${outs.length ? "It put out:" : "Nothing was put out."}</p>
	<dl class="facts">${outs.map(([name, value]) => html`<dt>${name}</dt><dd><code>${brief(value, 400)}</code></dd>`)}</dl>`
}

const all = { pause: Pause, resume: Resume, step: Step, fire: Fire, push: Push, ...maintaining }

/** Buttons lead to the actions there are. */
export const Buttons = ({ s }) => {
	const now = query("do")
	const button = (id, name, needs = "operate", open = now === id) => may(needs) && html`<button aria-expanded=${open ? "true" : "false"}
		onClick=${() => set({ do: now === id ? "" : id, mode: "" })}>${name} …</button>`
	if (!may("operate") && !may("push")) return null
	return html`<div class="buttons" role="group" aria-label="Do">${s.paused ? html`${button("resume", "Resume")} ${button("step", "Step")}` :
		button("pause", "Pause")} ${button("fire", "Fire")} ${button("push", "Push", "push")}
		${" "}${button("more", "More", "operate", Object.hasOwn(maintaining, now))}</div>`
}

/** Action is the one that the address has. */
export const Action = ({ s, m }) => Object.hasOwn(all, query("do")) ? html`<${all[query("do")]} key=${query("do")} s=${s} m=${m} />` : null
