// The keys of a graph: a page of those that are searched for, and what one of them has. They are asked for, not followed:
// of a hundred thousand keys some move all the time.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set, Link, toGraph } from "./route.js"
import { Doc, Value, Waiting, When } from "./parts.js"
import { brief, count, exact, list, own, some } from "./format.js"

const page = 100, mostRows = 2000

const orders = { recent: "last arrival", key: "key", waiting: "most waiting" }

/** useKeys are those that are searched for, asked for when that changes and when somebody asks again. */
const useKeys = (graph, open, search, sort) => {
	const [got, put] = useState({}), [turn, again] = useState(0)
	const asked = JSON.stringify([search, sort])
	const get = (before, signal) => ask("GET", graphPath(graph, "/keys?" + new URLSearchParams({ limit: page, sort,
		...search && { search }, ...before && { before } })), { signal })
	useEffect(() => {
		if (!open) return
		const ends = new AbortController()
		const wait = setTimeout(() => get("", ends.signal).then(value => put({ value, asked }),
			no => no.name !== "AbortError" && put({ trouble: no.message, asked })), got.asked && got.asked !== asked ? 300 : 0)
		return () => {
			clearTimeout(wait)
			ends.abort()
		}
	}, [graph, open, asked, turn])
	const onThose = make => put(is => is.value === got.value ? make(is) : is) // others may have been asked for meanwhile
	const more = async () => {
		try {
			const next = await get(got.value.next), there = new Set(got.value.items.map(x => JSON.stringify(x.key)))
			onThose(is => ({ ...is, trouble: "", value: { ...next, items: [...is.value.items,
				...next.items.filter(x => !there.has(JSON.stringify(x.key)))] } })) // one that has moved is there already
		} catch (no) {
			onThose(is => ({ ...is, trouble: no.message }))
		}
	}
	return { ...got, more, again: () => again(n => n + 1) }
}

/** Keys lists the keys of a keyed graph, once somebody asks for them. */
export const Keys = ({ s, m }) => {
	const open = query("keys") === "1", search = query("keys-search"), of = query("of")
	const sort = Object.hasOwn(orders, query("keys-sort")) ? query("keys-sort") : "recent"
	const l = useKeys(s.graph, open, search.trim(), sort)
	if (!open) return html`<section aria-labelledby="keys"><div class="bar"><h2 id="keys">Keys</h2>
		<button onClick=${() => set({ keys: "1" })}>Show keys</button></div>
		<p class="dim">It has ${some(s.keys.count, "key")} of at most ${exact(s.keys.max)}${s.keys.evicted ? `, and ${exact(s.keys.evicted)} ` +
			"were evicted" : ""}.</p></section>`
	const items = l.value?.items ?? []
	const choose = x => set({ of: of === JSON.stringify(x.key) ? "" : JSON.stringify(x.key) }, true)
	return html`<section aria-labelledby="keys">
		<div class="bar"><h2 id="keys">Keys</h2>
			<span><button onClick=${l.again}>Look again</button>${" "}
				<button class="quiet" aria-label="Close" onClick=${() => set({ keys: "", "keys-search": "", "keys-sort": "", of: "" })}>✕</button></span></div>
		<div class="choice">
			<label>Search <input type="search" class="wide" value=${search} spellcheck="false" autocomplete="off"
				onInput=${event => set({ "keys-search": event.target.value }, true)} /></label>
			<label>First <select value=${sort} onChange=${event => set({ "keys-sort": event.target.value }, true)}>
				${Object.entries(orders).map(([id, name]) => html`<option value=${id}>${name}</option>`)}</select></label>
			${l.value && html`<p class="dim" role="status">${search.trim() ? `${some(l.value.fitting, "key")} of ${exact(l.value.keys)}` :
				some(l.value.keys, "key")}</p>`}
		</div>
		${l.trouble && html`<div class="notice bad" role="alert"><p>${l.trouble}</p></div>`}
		${l.value?.unknown?.length > 0 && html`<div class="notice warn" role="status"><p>The keys of ${l.value.unknown.length === 1 ? "shard " :
			"shards "}${list(l.value.unknown.map(String))} are not known: ${l.value.unknown.length === 1 ? "it does" : "they do"} not run, or
			the daemon that has ${l.value.unknown.length === 1 ? "it" : "them"} does not answer.</p></div>`}
		<div class=${of ? "beside-keys" : ""}>
		<div>${!l.value ? !l.trouble && html`<${Waiting} />` : items.length === 0 ? html`<p class="empty">${search.trim() ? html`No key has this
			in it. <button class="link" onClick=${() => set({ "keys-search": "" })}>Show all ${exact(l.value.keys)}</button>` :
			html`It has no keys: an event that comes makes one, and one that is not heard of for its ttl goes. <${Doc} to="keys">Keys<//>`}</p>` : html`
		<div class="scroll keys" tabindex="0" role="group" aria-labelledby="keys"><table>
			<thead><tr><th scope="col">Key</th><th scope="col" class="number">Waiting</th><th scope="col">Last arrival</th>
				${s.shards && html`<th scope="col" class="number">Shard</th>`}</tr></thead>
			<tbody>${items.map(x => html`<tr key=${JSON.stringify(x.key)} class=${of === JSON.stringify(x.key) ? "now" : ""}>
				<th scope="row"><button class="link" aria-pressed=${of === JSON.stringify(x.key) ? "true" : "false"}
					onClick=${() => choose(x)}><code>${brief(x.key, 60)}</code></button></th>
				<td class=${"number " + (x.waiting ? "" : "dim")}>${exact(x.waiting)}</td><td><${When} at=${x.last_arrival_at} /></td>
				${s.shards && html`<td class="number">${x.shard ?? 0}</td>`}</tr>`)}</tbody></table></div>`}
		${l.value?.next && (items.length < mostRows ? html`<button class="more" onClick=${l.more}>More keys</button>` :
			html`<p class="dim">The first ${exact(mostRows)} are here: search for the others.</p>`)}</div>
		${of && html`<${One} key=${of} of=${of} s=${s} m=${m} />`}</div>
	</section>`
}

/** One is what a key has. It is asked for again when the key has fired, once a second at most. */
const One = ({ of, s, m }) => {
	const [got, put] = useState({}), [turn, again] = useState(0)
	m.beat.value
	const last = m.live.state, fired = useRef(0), left = m.live.left // however many that is, it grows
	if (last?.key !== undefined && JSON.stringify(last.key) === of) fired.current = last.epoch
	else if (left) fired.current = "of those that were not told, at " + left // it may be among them
	useEffect(() => {
		const ends = new AbortController()
		let timer
		const look = async () => {
			const shown = fired.current
			try {
				const value = await ask("GET", graphPath(s.graph, "/state?" + new URLSearchParams({ key: of })), { signal: ends.signal })
				put({ value })
			} catch (no) {
				if (no.name !== "AbortError") put(is => ({ ...is, trouble: no.message }))
			}
			const again = () => {
				timer = setTimeout(() => fired.current === shown ? again() : look(), 1000)
			}
			if (!ends.signal.aborted) again()
		}
		look()
		return () => {
			clearTimeout(timer)
			ends.abort()
		}
	}, [s.graph, of, turn])
	const v = got.value
	const waits = v ? s.accumulators.filter(a => own(v.queues, a.name) > 0 || own(v.dirty, a.name)).map(a => a.name) : []
	const lacks = v ? s.accumulators.filter(a => a.triggers && !waits.includes(a.name) && own(v.cache, a.name) == null).map(a => a.name) : []
	return html`<div class="one" role="region" aria-label=${"Key " + of}>
		<div class="bar"><h3>Key <code>${of}</code></h3>
			<span><button onClick=${() => again(n => n + 1)}>Look again</button>${" "}
				<button class="quiet" aria-label="Close the key" onClick=${() => set({ of: "" }, true)}>✕</button></span></div>
		${got.trouble && html`<div class="notice bad" role="alert"><p>${got.trouble}</p></div>`}
		${!v ? !got.trouble && html`<${Waiting} />` : html`
		<p class="says" role="status">${waits.length ? `Something of ${list(waits)} waits.` + (lacks.length ? ` Nothing has come for it from ${
			list(lacks)} yet.` : "") : "Nothing of it waits."}</p>
		<dl class="facts">${s.accumulators.map(a => html`<dt>${a.name}</dt><dd><code>${brief(own(v.cache, a.name), 200)}</code>
			${own(v.dirty, a.name) && html` <span class="badge wait">new</span>`}
			${own(v.queues, a.name) > 1 && html` <span class="dim">${count(own(v.queues, a.name))} wait</span>`}</dd>`)}</dl>
		<h3>What the nodes came to</h3>
		<${Value} value=${v.nodes} name=${"Nodes of key " + of} />
		<p><${Link} href=${toGraph(s.graph, { keys: "1", of, "keys-search": query("keys-search"), "keys-sort": query("keys-sort"), key: of })}>Its firings<//>${" · "}
			<${Link} href=${toGraph(s.graph, { keys: "1", of, silent: "1", "silent-key": of })}>Why nothing comes of it<//></p>`}
	</div>`
}
