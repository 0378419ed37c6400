// Dead letters: events that could not be used, and values that a sink refused. They are listed when somebody asks for
// them, and replayed or discarded once it has been said what that comes to.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set, Link, toGraph } from "./route.js"
import { Clock, Code, Doc, Value, Waiting } from "./parts.js"
import { may } from "./who.js"
import { atDaemon, count, some } from "./format.js"

const page = 50, mostRows = 1000
const atOnce = 1000 // letters that one request deals with

const filters = ["accumulator", "output", "code", "key", "since", "where"]
const named = name => "letter-" + name

/** chosen are the letters that the address asks for, as the API takes them. */
const chosen = () => Object.fromEntries(filters.map(f => [f, query(named(f))]).filter(([, value]) => value))

const spans = [["", "ever"], ["10m", "the last 10 min"], ["1h", "the last hour"], ["1d", "the last day"]]

const became = s => s.counters.dead_lettered + s.outputs.reduce((n, o) => n + o.failed, 0)

/** useLetters are those that fit, asked for when the choice changes, and when somebody asks again. */
const useLetters = (s, open, choice) => {
	const [got, put] = useState({}), [turn, again] = useState(0), last = useRef()
	const asked = JSON.stringify(choice)
	const get = (before, signal) => ask("GET", graphPath(s.graph, "/dead-letters?" + new URLSearchParams({ ...choice,
		limit: page, ...before && { before } })), { signal })
	useEffect(() => {
		if (!open) return
		const ends = new AbortController(), at = last.current = became(s)
		const wait = setTimeout(() => get("", ends.signal).then(value => put({ value, at, asked }),
			no => no.name !== "AbortError" && put({ trouble: no.message, at, asked })), got.asked && got.asked !== asked ? 300 : 0)
		return () => {
			clearTimeout(wait)
			ends.abort()
		}
	}, [s.graph, open, asked, turn])
	const onThose = make => put(is => is.value === got.value ? make(is) : is) // others may have been asked for meanwhile
	const more = async () => {
		try {
			const { items, next, note } = await get(got.value.next)
			onThose(is => ({ ...is, trouble: "", value: { items: [...is.value.items, ...items], next, note } }))
		} catch (no) {
			onThose(is => ({ ...is, trouble: no.message }))
		}
	}
	return { ...got, stale: got.asked !== asked, fresh: got.at === undefined ? 0 : became(s) - got.at, more, again: () => again(n => n + 1) }
}

/** Letters lists dead letters, and offers what can be done with them. Those of nodes, where there may be any, are not counted. */
export const Letters = ({ s, ofNodes }) => {
	const open = query("letters") === "1", choice = chosen(), all = became(s)
	const l = useLetters(s, open, choice)
	const [act, start] = useState(null), [going, goes] = useState("") // "doing", or "done" and not put away
	const begin = next => {
		goes("")
		start(next)
	}
	useEffect(() => { if (!going) start(null) }, [JSON.stringify(choice)]) // what is done is told, whatever is listed meanwhile
	if (!open) return (all > 0 || ofNodes) && html`<section aria-labelledby="letters"><div class="bar"><h2 id="letters">Dead letters</h2>
		<button onClick=${() => set({ letters: "1" })}>Show dead letters</button></div>
		<p class="dim">${some(all, "event or value has", "events and values have")} become dead letters since the graph was made, which counts those
			that were replayed since.${ofNodes && " What nodes could not compute is listed too, and is not counted."}</p></section>`
	const items = l.value?.items ?? [], codes = [...new Set([...items.map(x => x.code), query("letter-code")])].filter(Boolean).sort()
	const close = () => set(Object.fromEntries(["letters", ...filters.map(named)].map(name => [name, ""])))
	const pick = (f, name, values, none = "all") => html`<label>${name} <select value=${query(named(f))}
		onChange=${event => set({ [named(f)]: event.target.value }, true)}><option value="">${none}</option>
		${values.map(v => html`<option value=${v}>${v}</option>`)}</select></label>`
	const type = (f, name, hint) => html`<label>${name} <input type="search" class=${hint && "wide"} value=${query(named(f))} placeholder=${hint}
		spellcheck="false" onInput=${event => set({ [named(f)]: event.target.value }, true)} /></label>`
	return html`<section aria-labelledby="letters">
		<div class="bar"><h2 id="letters">Dead letters</h2>
			<span><button onClick=${l.again}>Look again${l.fresh > 0 ? `, ${count(l.fresh)} new` : ""}</button>${" "}
				<button class="quiet" aria-label="Close" onClick=${close}>✕</button></span></div>
		<div class="choice">
			${pick("accumulator", "Input", s.accumulators.map(a => a.name))}
			${pick("output", "Output", s.outputs.map(o => o.name))}
			${pick("code", "Code", codes)}
			<label>Since <select value=${query("letter-since")} onChange=${event => set({ "letter-since": event.target.value }, true)}>
				${spans.map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
			${s.keys && type("key", "Key", "")}
			${type("where", "Where", "event.amount > 5")}
		</div>
		${items.length > 0 && !l.stale && may("operate") && html`<p class="actions">
			<button disabled=${going === "doing"} onClick=${() => begin({ verb: "replay", of: choice })}>Replay all that fit …</button>${" "}
			<button disabled=${going === "doing"} onClick=${() => begin({ verb: "discard", of: choice })}>Discard all that fit …</button></p>`}
		${act && html`<${Act} key=${JSON.stringify(act)} graph=${s.graph} act=${act} end=${() => begin(null)} done=${l.again}
			goes=${goes} other=${!act.of.ids && JSON.stringify(act.of) !== JSON.stringify(choice)} />`}
		${l.trouble && html`<div class="notice bad" role="alert"><p>${l.trouble}</p></div>`}
		${!l.value ? !l.trouble && html`<${Waiting} />` : items.length === 0 ? html`<p class="empty">${l.value.note ||
			(Object.keys(choice).length ? "No dead letter that is kept fits." : "No dead letter is kept.")} <${Doc}
			to="operations#dead-letters">How long they are kept<//></p>` : html`
		<ul class="letters">${items.map(x => html`<${Letter} key=${x.id} x=${x} graph=${s.graph} busy=${going === "doing"}
			act=${verb => begin({ verb, of: { ids: [x.id] } })} />`)}</ul>`}
		${l.value?.next && items.length < mostRows && html`<button class="more" onClick=${l.more}>Earlier ones</button>`}
	</section>`
}

const Letter = ({ x, graph, busy, act }) => html`<li><details>
	<summary><${Clock} at=${x.at} /> <strong>${x.output || x.accumulator}</strong> <span class="badge bad">${x.code}</span>
		${" "}${x.reason}</summary>
	<dl class="facts">
		<dt>${x.output ? "Output" : "Input"}</dt><dd>${x.output || x.accumulator}</dd>
		<dt>Code</dt><dd><${Code} code=${x.code} look="bad" /></dd>
		<dt>Failed at</dt><dd>${x.stage}</dd>
		<dt>Events</dt><dd>${count(x.events)}</dd>
		<dt>Attempts</dt><dd>${count(x.attempts)}</dd>
		${x.key && html`<dt>Key</dt><dd><code>${x.key}</code></dd>`}
		${x.epoch > 0 && html`<dt>Epoch</dt><dd><${Link} href=${toGraph(graph, { epoch: String(x.epoch),
			shard: x.shard ? String(x.shard) : "", letters: "1" })}>${x.epoch}<//></dd>`}
		${x.position && html`<dt>Position</dt><dd><code>${x.position}</code></dd>`}
		${x.firing_id && html`<dt>Firing id</dt><dd><code>${x.firing_id}</code></dd>`}
		${x.replay_of && html`<dt>Replay of</dt><dd><code>${x.replay_of}</code></dd>`}
		<dt>Id</dt><dd><code>${x.id}</code></dd>
	</dl>
	${x.payload_encoding === "json" ? html`<${Value} value=${x.payload} name="What it holds" />` :
		html`<pre class="value" tabindex="0" role="group" aria-label="What it holds">${x.payload}</pre>`}
	${may("operate") && html`<p class="actions"><button disabled=${busy} onClick=${() => act("replay")}>Replay …</button>${" "}
		<button disabled=${busy} onClick=${() => act("discard")}>Discard …</button></p>`}</details></li>`

const nothing = { letters: 0, passed: 0, failed_again: 0, waiting: 0, skipped: 0, discarded: 0, reasons: [], undecided: 0 }

/** sum adds what one request has come to. */
const sum = (a, b) => {
	const is = { note: b.note || a.note, next: b.next }
	for (const [name, n] of Object.entries(nothing)) is[name] = name === "reasons" ? [...a.reasons] : (a[name] ?? n) + (b[name] ?? n)
	for (const r of b.reasons ?? []) {
		const at = is.reasons.findIndex(x => x.fate === r.fate && x.code === r.code)
		if (at < 0) is.reasons.push(r)
		else is.reasons[at] = { ...is.reasons[at], letters: is.reasons[at].letters + r.letters }
	}
	return is
}

/** Act says what a replay or a discard comes to before it is done, and what it came to afterwards. */
const Act = ({ graph, act, end, done, goes, other }) => {
	const [is, put] = useState({ name: act.verb === "replay" ? "looking" : "ready" })
	const head = useRef(), stop = useRef(false)
	const one = !!act.of.ids, of = useRef()
	// What fails while it is replayed becomes a letter anew: those are not meant.
	of.current ??= one ? act.of : { ...act.of, until: new Date(atDaemon()).toISOString() }
	const send = more => ask("POST", graphPath(graph, "/dead-letters/" + act.verb), { body: JSON.stringify({ ...of.current,
		limit: atOnce, ...more }) })
	useEffect(() => {
		head.current?.focus({ preventScroll: true })
		head.current?.scrollIntoView({ block: "nearest" })
		if (is.name === "looking") send({ preview: true }).then(found => put({ name: "ready", found }),
			no => put({ name: "done", trouble: no.message }))
		return () => { stop.current = true }
	}, [])
	const go = async () => {
		let all = nothing, after
		goes("doing")
		put({ name: "doing", all })
		try {
			do {
				const part = await send(after && { after })
				all = sum(all, part)
				after = part.next
				if (stop.current) return
				put({ name: "doing", all })
			} while (after)
			put({ name: "done", all })
		} catch (no) {
			put({ name: "done", all, trouble: no.message })
		}
		goes("done")
		done()
	}
	const what = one ? "this letter" : other ? "all that fitted before: " + (Object.entries(act.of).map(([name, value]) =>
		`${name} ${value}`).join(", ") || "all") : "all that fit"
	return html`<div class="act" role="region" aria-label=${act.verb === "replay" ? "Replay" : "Discard"}>
		<h3 tabindex="-1" ref=${head}>${act.verb === "replay" ? "Replay " : "Discard "}${what}</h3>
		<div role="status">
		${is.name === "looking" && html`<p>Looking at what would become of it …</p>`}
		${is.name === "ready" && act.verb === "discard" && html`<p>${one ? "The letter is" : "All letters that fit, also those " +
			"that are not listed yet, are"} removed for good. What ${one ? "it holds" : "they hold"} is in no other place of graphd.</p>`}
		${is.found && html`<p><strong>${would(is.found)}</strong>
			${" "}Events are pushed again as new ones, and values are sent again under the firing id they had. What passes is no
			dead letter any more.</p>`}
		${is.all && html`<p><strong>${told(act.verb, is.all)}</strong>${is.name === "doing" && " It goes on …"}</p>`}
		</div>
		${is.trouble && html`<p class="bad" role="alert">${is.trouble}</p>`}
		<${Fates} of=${is.all ?? is.found} />
		<p class="actions">${is.name === "ready" && html`<button class="main" onClick=${go}>${act.verb === "replay" ? "Replay" :
			"Discard for good"}</button>`}${" "}
			${is.name !== "doing" && html`<button onClick=${end}>${is.name === "done" ? "Close" : "Cancel"}</button>`}</p>
	</div>`
}

const would = f => f.letters === 0 ? "No letter fits." : f.passed === f.letters && !f.next ? `${some(f.letters, "letter")} would pass.` :
	`Of ${f.next ? "the oldest " : ""}${some(f.letters, "letter")} ${f.passed ? count(f.passed) : "none"} would pass.`

const told = (verb, all) => verb === "discard" ? `${some(all.discarded, "letter is", "letters are")} gone.` :
	`${some(all.passed, "letter has", "letters have")} passed` + [[all.failed_again, "refused again"], [all.waiting, "on the way to a sink"],
		[all.skipped, "not to be replayed"]].filter(([n]) => n).map(([n, what]) => `, ${count(n)} ${n === 1 ? "is" : "are"} ${what}`).join("") + "."

const Fates = ({ of }) => of && html`<ul class="reasons">${(of.reasons ?? []).map(r => html`<li>
	<span class="badge warn">${r.fate.replace("_", " ")}</span> ${some(r.letters, "letter")}: <${Code} code=${r.code} />,
	${" "}${r.detail}</li>`)}</ul>
	${of.undecided > 0 && html`<p class="dim">${some(of.undecided, "letter was", "letters were")} left out: <code>where</code> could not be
		computed for ${of.undecided === 1 ? "it" : "them"}.</p>`}
	${of.note && html`<p class="dim">${of.note}</p>`}`
