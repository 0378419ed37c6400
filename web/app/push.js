// An event by hand, by a form of its input's schema.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath, parse } from "./api.js"
import { query, set, Link, toGraph } from "./route.js"
import { count, exact, own, some } from "./format.js"
import { Code } from "./parts.js"
import { Panel, useDoing } from "./act.js"

const takesPushes = a => a.source !== "node" && a.source !== "join"

/** typeOf is the type that a schema says, null aside. */
const typeOf = schema => schema?.enum ? "enum" : [schema?.type].flat().find(t => t !== "null")

/** example is a value to begin with. */
const example = schema => {
	if (schema?.default !== undefined) return schema.default
	if (schema?.examples?.length) return schema.examples[0]
	switch (typeOf(schema)) {
	case "enum": return schema.enum[0]
	case "object": return Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, of]) => [name, example(of)]))
	case "array": return []
	case "string": return schema.format === "date-time" ? new Date().toISOString() : ""
	case "number": case "integer": return schema.minimum > 0 ? schema.minimum : 0
	case "boolean": return false
	}
	return schema?.properties ? example({ ...schema, type: "object" }) : null
}

const read = text => {
	try {
		return { value: parse(text) }
	} catch (no) { return { why: no.message } }
}

const write = value => JSON.stringify(value, null, 2)

/** number is what somebody has typed as a number, as exactly as it was typed; a text where it is none. */
const number = text => /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? JSON.rawJSON ? JSON.rawJSON(text) : Number(text) : text

/** Field is a field of an event that is no list and has no fields of its own. */
const Field = ({ name, schema, value, needed, put }) => {
	const type = typeOf(schema), shown = typeof value === "string" ? value : value == null ? "" : JSON.stringify(value)
	const label = html`${name}${needed && html` <span class="dim">needed</span>`}`
	if (type === "boolean") return html`<label><input type="checkbox" checked=${value === true}
		onChange=${event => put(event.target.checked)} /> ${label}</label>`
	if (type === "enum") return html`<label>${label} <select value=${JSON.stringify(value)} onChange=${event => put(parse(event.target.value))}>
		${schema.enum.map(v => html`<option value=${JSON.stringify(v)}>${typeof v === "string" ? v : JSON.stringify(v)}</option>`)}</select></label>`
	if (type === "number" || type === "integer") return html`<label>${label} <input inputmode="decimal" name=${name} value=${shown}
		onInput=${event => put(number(event.target.value))} /></label>`
	return html`<label>${label} <input name=${name} value=${shown} onInput=${event => put(event.target.value)} /></label>`
}

const plain = ["enum", "string", "number", "integer", "boolean"]

/** Push pushes one event. */
export const Push = ({ s, m }) => {
	const inputs = s.accumulators.filter(takesPushes), input = inputs.find(a => a.name === query("input")) ?? inputs[0]
	if (!input) return html`<section class="act"><p>No input of this graph takes pushes: nodes feed all of them.</p></section>`
	return html`<${Of} key=${input.name} s=${s} m=${m} inputs=${inputs} input=${input} />`
}

/** once is a key that no other push has. */
const once = () => [...crypto.getRandomValues(new Uint8Array(16))].map(b => b.toString(16).padStart(2, "0")).join("")

const told = (did, input) => {
	const one = did.accepted === 1, is = one ? "it was" : `${count(did.filtered)} of ${count(did.accepted)} were`
	const left = did.filtered > 0 && html`The <code>where</code> of ${input.name} was false: ${is} left out.`
	if (did.accepted > 0 && did.filtered === did.accepted) return left
	return html`${one ? "It was taken" : `${some(did.accepted, "event was", "events were")} taken`}${did.durable ? ", and kept whatever happens." :
		`. Until the next checkpoint a crash would lose ${one ? "it" : "them"}.`} ${left}`
}

const Of = ({ s, m, inputs, input }) => {
	m.version.value
	const [schema, put] = useState(), [text, setText] = useState("")
	const [before, setBefore] = useState(null), [trouble, tell] = useState("")
	useEffect(() => {
		const ends = new AbortController()
		ask("GET", graphPath(s.graph, "/accumulators/" + encodeURIComponent(input.name)), { signal: ends.signal }).then(found => {
			put(found.schema)
			setText(was => was || write(found.schema ? example(found.schema) : own(m.live.state?.cache, input.name) ?? {}))
		}, no => no.name !== "AbortError" && tell(no.message))
		return () => ends.abort()
	}, [s.graph, input.name])
	const sent = useRef({}) // what the daemon has not answered yet: sent again, it is the same push
	const given = read(text), fields = Object.entries(schema?.properties ?? {}).filter(([, of]) => plain.includes(typeOf(of)))
	const doing = useDoing(async () => {
		setBefore(m.firings.rows[0] ?? {})
		if (sent.current.text !== text || sent.current.input !== input.name) sent.current = { text, input: input.name, key: once() }
		let did
		try {
			did = await ask("POST", graphPath(s.graph, `/accumulators/${encodeURIComponent(input.name)}/events`),
				{ body: text, headers: { "Idempotency-Key": sent.current.key } })
		} catch (no) {
			if (no.status > 0 && no.status < 500 && no.status !== 429) sent.current = {}
			throw no
		}
		sent.current = {}
		return html`<p>${told(did, input)}</p>`
	})
	const all = m.firings.rows, at = all.indexOf(before)
	const since = before === null || !doing.done ? [] : all.slice(0, at < 0 ? all.length : at).filter(f => !f.gap).slice(-5).reverse()
	const refused = doing.no?.problem.rejected ?? []
	return html`<${Panel} title=${"Push to " + s.graph} label="Push" needs="push" doing=${{ ...doing, trouble: refused.length ? "" : doing.trouble }} off=${given.why}>
		<div class="choice"><label>Input <select value=${input.name} onChange=${event => set({ input: event.target.value }, true)}>
			${inputs.map(a => html`<option value=${a.name}>${a.name}</option>`)}</select></label></div>
		${trouble && html`<p class="bad" role="alert">${trouble}</p>`}
		${fields.length > 0 && !given.why && html`<fieldset class="form"><legend>An event</legend>${fields.map(([name, of]) => html`<${Field}
			name=${name} schema=${of} value=${own(given.value, name)} needed=${schema.required?.includes(name)}
			put=${v => setText(write({ ...given.value, [name]: v }))} />`)}</fieldset>`}
		<label>As JSON <textarea rows="6" spellcheck="false" value=${text} onInput=${event => setText(event.target.value)} /></label>
		${given.why && text && html`<p class="bad" role="alert">${given.why}</p>`}
		<p>${Array.isArray(given.value) ? `${some(given.value.length, "event")} for ` : "One event for "}<strong>${input.name}</strong>, as if it
			came from outside. ${s.paused ? "The graph is paused: it waits until that is over." : input.triggers ? `It triggers: epoch ${
			exact(s.epoch + 1)} may run of it, if the criteria and the guard let it.` : "It does not trigger: the next epoch reads it."}</p>
	<//>
	${refused.length > 0 && html`<div class="notice bad" role="alert"><ul class="reasons">${refused.map(r => html`<li><${Code} code=${r.code} look="bad" />
		${" "}${r.detail}</li>`)}</ul></div>`}
	${since.length > 0 && html`<p class="did" role="status">Epochs since then: ${since.map((f, i) => html`${i > 0 && ", "}<${Link}
		href=${toGraph(s.graph, { epoch: String(f.epoch), shard: f.shard ? String(f.shard) : "" })}>${exact(f.epoch)}<//>${f.ok ? " ok" : " failed"}`)}.</p>`}`
}
