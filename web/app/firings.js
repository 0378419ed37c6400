// The firings of a graph, and one of them in full.
import { html, useEffect, useMemo, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set } from "./route.js"
import { Clock, Span, Value, Waiting, statuses, useBeat } from "./parts.js"
import { brief, count, exact, inputOf, seconds, some, stamped } from "./format.js"
import { idOf } from "./history.js"
import { Fate, Ids, Read, Taken, useWhy } from "./why.js"

const shown = 50

/** fits says whether a firing is one that the address asks for. */
const fits = f => {
	if (f.gap) return true
	const cause = query("cause"), outcome = query("outcome"), output = query("output"), key = query("key")
	return (!cause || f.cause === cause) && (!outcome || (outcome === "failed") === !f.ok) &&
		(!output || Object.hasOwn(f.outputs ?? {}, output)) && (!key || brief(f.key ?? null, 1000).includes(key))
}

const outcome = f => f.ok ? f.overran ? html`<span class="badge warn">▲ ok, late</span>` : html`<span class="good">✓ ok</span>` :
	html`<span class="badge bad">✖ failed</span>`

const outputs = f => Object.entries(f.outputs ?? {})

/** Firings lists those that the page holds. A summary alone has nothing of it drawn anew. */
export const Firings = ({ m, s }) => {
	const { graph } = s, keyed = s.keys != null, sharded = s.shards != null, put = s.outputs.map(o => o.name)
	return useMemo(() => html`<${Listed} m=${m} graph=${graph} keyed=${keyed} sharded=${sharded} put=${put} />`, [m, graph, keyed, sharded, put.join()])
}

const Listed = ({ m, graph, keyed, sharded, put }) => {
	const at = useRef()
	useBeat(m.beat, at) // what comes between two looks is shown when it comes
	const [held, hold] = useState(null), [trouble, tell] = useState(""), [most, setMost] = useState(shown), [asking, setAsking] = useState(false)
	const all = (held ?? m.firings).rows
	const filter = ["cause", "outcome", "output", "key"].map(q => query(q)).join("\n")
	const list = all.filter(fits), { left, holes } = held ?? m.firings, causes = [...new Set(all.filter(f => !f.gap).map(f => f.cause))].sort()
	const turn = useRef(0), [looked, look] = useState(0) // a search ends when another is asked for, or nobody is there
	useEffect(() => {
		setMost(shown)
		return () => { turn.current++ }
	}, [filter])
	const choice = (id, name, values) => html`<label>${name} <select value=${query(id)}
		onChange=${event => set({ [id]: event.target.value }, true)}>
		<option value="">all</option>${[...new Set([...values, query(id)])].filter(Boolean).map(v => html`<option value=${v}>${v}</option>`)}
	</select></label>`
	const { older } = held ?? m.firings, full = held?.full
	const goesOn = older !== "" && all.length > 0
	const passed = filter.trim() !== "" && left > 0 // a search begins anew at the newest: one that fits may be among those left out
	const marked = filter.trim() === "" && (list.length < 20 || 2 * holes.size < list.length) // else it is a sample as a whole
	// Who looks at earlier ones holds the list: it would lose them to those that come.
	const more = async () => {
		setMost(most + shown)
		if (list.length > most + shown || !passed && (!goesOn || full)) return
		const of = passed ? new m.firings.constructor(graph) : held ?? m.firings.copy(), filtered = filter.trim() !== ""
		const asked = turn.current
		setAsking(true)
		try {
			do { // on through those that do not fit, until there is something to show
				await of.more()
				hold(of)
				look(of.rows.length)
			} while (filtered && asked === turn.current && of.rows.filter(f => !f.gap && fits(f)).length < most + shown && of.older !== "" && !of.full)
			tell("")
		} catch (no) {
			tell(no.message)
		}
		hold(of)
		setAsking(false)
	}
	const whole = async () => {
		const of = new m.firings.constructor(graph)
		setAsking(true)
		try {
			await of.newest()
			hold(of)
			tell("")
		} catch (no) {
			tell(no.message)
		}
		setAsking(false)
	}
	const empty = all.length === 0 ? older === undefined ? "What has fired is not known yet." :
		html`Nothing has fired yet: push an event, or fire it by hand with <code>graphd fire ${graph}</code>` :
		goesOn && !full || passed ? `None of the ${exact(all.filter(f => !f.gap).length)} firings that are here fits.` : "No firing that is kept fits."
	const top = held && topOf(m.firings.rows, held.rows[0])
	const fresh = !held ? "" : top < 0 ? `, more than ${count(m.firings.rows.length)} new` : top ? `, ${count(top)} new` : ""
	return html`<section aria-labelledby="firings" ref=${at}>
		<div class="bar"><h2 id="firings">Firings</h2>
			<button aria-pressed=${held ? "true" : "false"} onClick=${() => hold(held ? null : m.firings.copy())}>
				${held ? "Go on" + fresh : "Hold the list"}</button></div>
		<div class="choice">
			${choice("cause", "Cause", [...new Set([...Object.keys(reasons), ...causes])])}
			${choice("outcome", "Outcome", ["ok", "failed"])}
			${choice("output", "Output", put)}
			${keyed && html`<label>Key <input type="search" value=${query("key")} size="10"
				onInput=${event => set({ key: event.target.value }, true)} /></label>`}
		</div>
		${list.length === 0 ? html`<p class="empty">${empty}</p>` :
		html`<div class="scroll" tabindex="0" role="group" aria-labelledby="firings"><table class=${"firings" + (keyed ? " keyed" : "")}>
			<thead><tr><th scope="col" class="number epoch">Epoch</th><th scope="col" class="time">Time</th><th scope="col" class="cause">Cause</th>
				${keyed && html`<th scope="col" class="key-of">Key</th>`}<th scope="col" class="outcome">Outcome</th>
				<th scope="col" class="number took">Took</th><th scope="col">Put out</th></tr></thead>
			<tbody>${list.slice(0, most).flatMap(f => [f.gap ? html`<${Gap} key=${idOf(f)} f=${f} columns=${keyed ? 7 : 6} />` :
				html`<${Line} key=${idOf(f)} f=${f} keyed=${keyed} sharded=${sharded} />`, marked && holes.has(idOf(f)) &&
				html`<${Hole} key=${"left " + idOf(f)} n=${holes.get(idOf(f))} columns=${keyed ? 7 : 6} />`])}</tbody>
		</table></div>`}
		${trouble && html`<p class="bad" role="alert">${trouble}</p>`}
		${left > 0 && html`<p class="dim left">${`More fire than one can read: ${some(left, "other")} came in between, of which the history has what is kept.`}
			${" "}<button class="link" disabled=${asking} onClick=${whole}>List the newest without a hole</button></p>`}
		${(list.length > most || goesOn && !full || passed) && html`<button class="more" disabled=${asking} onClick=${more}>
			${filter.trim() && list.length <= most ? "Search the history" : "Earlier ones"}</button>`}
		${asking && html`<span class="dim" role="status"> ${some(looked, "firing")} looked at …</span>`}
		${full && list.length <= most && html`<p class="dim">The list is full. <code>graphd firings ${graph}</code> has those before.</p>`}
	</section>`
}

/** topOf is where in rows the first of a list stands; where it is not among them, the first that is older. */
const topOf = (rows, first) => {
	const same = first ? rows.findIndex(f => idOf(f) === idOf(first)) : -1
	return same >= 0 ? same : rows.findIndex(f => first && Date.parse(f.at) <= Date.parse(first.at))
}

/** Gap, Hole and Line are drawn once, and then anew only where what is chosen is another: of fifty few come in a second. */
const Gap = ({ f, columns }) => useMemo(() => html`<tr class="gap"><td colspan=${columns}>${f.from == null ? "A gap: what came in between is " +
	"not known any more." : `A gap: ${some(f.to - f.from + 1, "frame was", "frames were")} missed here` +
	`${f.shard ? " of shard " + f.shard : ""}. What is kept of them is in the history.`}</td></tr>`, [f, columns])

const Hole = ({ n, columns }) => useMemo(() => html`<tr class="left"><td colspan=${columns}>${some(n, "other")} came in between</td></tr>`,
	[n, columns])

const Line = ({ f, keyed, sharded }) => {
	const now = query("epoch") === String(f.epoch) && query("shard", "0") === String(f.shard ?? 0)
	return useMemo(() => drawn(f, keyed, sharded, now), [f, keyed, sharded, now])
}

const drawn = (f, keyed, sharded, now) => {
	const number = (sharded ? `${f.shard ?? 0}/` : "") + exact(f.epoch)
	const show = () => set({ epoch: String(f.epoch), shard: f.shard ? String(f.shard) : "" })
	return html`<tr class=${(now ? "chosen " : "") + (f.ok ? "" : "failed")}>
		<td class="number"><button class="link" aria-current=${now ? "true" : undefined} onClick=${show}
			aria-label=${`Epoch ${number} in full`}>${number}</button></td>
		<td><${Clock} at=${f.at} /></td><td>${f.cause}</td>${keyed && html`<td><code>${brief(f.key, 24)}</code></td>`}
		<td>${outcome(f)}</td><td class="number"><${Span} us=${f.duration_us} /></td>
		<td class="out">${f.error ? html`<span class="bad">${f.error}</span>` : outputs(f).length === 0 ? html`<span class="dim">nothing</span>` :
			outputs(f).map(([name, value]) => html`<span class="put"><strong>${name}</strong> <code>${brief(value, 120)}</code></span>`)}</td>
	</tr>`
}

/** useFiring is the firing that the address names, asked for once. */
export const useFiring = graph => {
	const epoch = query("epoch"), shard = query("shard", "0"), id = epoch && `${shard}/${epoch}`
	const [got, put] = useState({})
	useEffect(() => {
		if (!id) return
		const ends = new AbortController()
		ask("GET", graphPath(graph, `/firings/${epoch}` + (shard !== "0" ? "?shard=" + shard : "")), { signal: ends.signal }).then(
			value => put({ id, value }), no => no.name !== "AbortError" && put({ id, trouble: no.message }))
		return () => ends.abort()
	}, [graph, id])
	return got.id === id && id ? { ...got, epoch } : { id, epoch }
}

/** Firing is one firing in full, beside what else is shown. */
export const Firing = ({ m, firing, graph }) => {
	const why = useWhy(graph, firing.id)
	const head = useRef(), from = useRef(document.activeElement)
	const close = () => {
		set({ epoch: "", shard: "" })
		from.current?.isConnected && from.current.focus?.()
	}
	useEffect(() => head.current?.focus({ preventScroll: true }), [firing.id])
	useEffect(() => {
		const key = event => event.key === "Escape" && close()
		addEventListener("keydown", key)
		return () => removeEventListener("keydown", key)
	}, [])
	const f = firing.value, shard = query("shard")
	const near = useMemo(() => {
		const of = m.firings.rows.filter(x => !x.gap && (x.shard ?? 0) === Number(shard || 0)).map(x => x.epoch)
		const at = Number(firing.epoch)
		return { before: at > 1 ? at - 1 : 0, after: of.length && at < Math.max(...of) ? at + 1 : 0 }
	}, [firing.id, m.beat.value])
	const step = (to, name) => html`<button disabled=${!to} onClick=${() => set({ epoch: String(to) }, true)}>${name}</button>`
	return html`<section class="panel" aria-label=${"Epoch " + firing.epoch}>
		<div class="bar"><h2 tabindex="-1" ref=${head}>Epoch ${exact(Number(firing.epoch))}</h2>
			<span>${step(near.before, "Earlier")} ${step(near.after, "Later")}
			<button class="quiet" aria-label="Close" onClick=${close}>✕</button></span></div>
		${firing.trouble ? html`<div class="notice bad" role="alert"><p>${firing.trouble}</p></div>` : !f ? html`<${Waiting} />` :
		html`<${Detail} f=${f} why=${why} />`}
	</section>`
}

/** reasons are what an epoch is caused by. */
const reasons = {
	criteria: "the criteria were met by what had arrived", force: "somebody fired it by hand", with: "somebody fired it with " +
		"inputs of their own", tick: "its time had come", max_wait: "what waited had waited long enough",
}

const Detail = ({ f, why }) => {
	const w = why.value, inputs = byName(w?.inputs), nodes = byName(w?.nodes), outs = byName(w?.outputs)
	const took = Object.entries(f.cut ?? {}).filter(([, c]) => c.taken)
	return html`
		<p class="says">${outcome(f)} ${w ? html`<span class="sentence">${w.sentence}</span>` : html`It fired because
			${" "}${reasons[f.cause] ?? f.cause}${took.length > 0 && html`: it took${" "}
			${took.map(([name, c], i) => html`${i > 0 && ", "}<strong>${name}</strong> (${some(c.events, "event")})`)}`}.`}</p>
		${why.trouble && html`<p class="bad" role="alert">Why it fired cannot be told: ${why.trouble}</p>`}
		${f.error && html`<div class="notice bad"><p>${f.error}</p></div>`}
		<dl class="facts">
			<dt>At</dt><dd>${stamped(f.at)}</dd>
			<dt>Took</dt><dd>${seconds(f.duration_us / 1e6)}${f.overran && ", longer than its budget"}</dd>
			${f.key !== null && html`<dt>Key</dt><dd><code>${JSON.stringify(f.key)}</code></dd>`}
			${f.shard > 0 && html`<dt>Shard</dt><dd>${f.shard}</dd>`}
			<dt>Incarnation</dt><dd>${f.incarnation}</dd>
			${w?.revision && html`<dt>Revision</dt><dd>${w.revision.revision}</dd>`}
			${w?.guard && html`<dt>Guard</dt><dd><code>${w.guard.expression}</code></dd>`}
			${f.degraded?.length > 0 && html`<dt>Degraded</dt><dd>${f.degraded.join(", ")}</dd>`}
		</dl>
		${w?.guard && html`<h3>The guard read</h3><${Read} values=${w.guard.reads} />`}
		<h3>Inputs</h3>
		${Object.keys(f.cut ?? f.inputs).map(name => [name, inputOf(f, name)]).map(([name, i]) => html`<details open=${i.taken}>
			<summary><strong>${name}</strong> ${inputs.has(name) ? html`<${Taken} i=${inputs.get(name)} />` :
				i.taken ? html`<span class="badge good">taken</span>` :
				html`<span class="badge idle">${i.absent ? "absent" : "read again"}</span>`}
				${" "}<code>${i.absent ? "" : brief(i.value, 40)}</code></summary>
			${i.position && html`<p class="dim">position <code>${i.position}</code></p>`}
			${i.absent ? html`<p class="dim">Nothing has come of it yet.</p>` : html`<${Value} value=${i.value} name=${"Input " + name} />`}</details>`)}
		<h3>Nodes</h3>
		<ul class="nodes">${Object.entries(f.nodes ?? {}).map(([name, n]) => html`<li class=${n.status}>
			<strong>${name}</strong> <span class=${"badge " + looks[n.status]} title=${statuses[n.status]}>${n.status.replace("_", " ")}</span>
			<span class="dim number">${n.duration_us == null ? "" : seconds(n.duration_us / 1e6)}</span>
			${n.iterations > 0 && html` <span class="dim">${some(n.iterations, "iteration")}, ${n.ended}</span>`}
			<code>${n.value == null ? "" : brief(n.value, 60)}</code>${n.error && html`<p class="bad">${n.error}</p>`}
			${nodes.get(name)?.because && html`<p class="dim">${nodes.get(name).because.detail}</p>`}</li>`)}</ul>
		<h3>Outputs</h3>
		${outputs(f).length === 0 && html`<p class="dim">Nothing was put out.</p>`}
		${outputs(f).map(([name, value]) => html`<details open>
			<summary><strong>${name}</strong> ${outs.has(name) && html`<${Fate} o=${outs.get(name)} />`}</summary>
			<${Ids} o=${outs.get(name)} /><${Value} value=${value} name=${"Output " + name} /></details>`)}
		<ul class="reasons">${(w?.outputs ?? []).filter(o => o.fate === "silent").map(o => html`<li>
			<strong>${o.name}</strong> <${Fate} o=${o} /></li>`)}</ul>`
}

const byName = list => new Map((list ?? []).map(x => [x.name, x]))

const looks = { ran: "good", cut_off: "idle", skipped: "idle", failed: "bad", idle: "idle" }
