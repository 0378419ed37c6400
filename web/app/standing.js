// How a graph stands: what has happened to it, what of it is kept, and how long its epochs take.
import { html, useEffect, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set, Link, toGraph } from "./route.js"
import { Clock, Doc, Waiting, When } from "./parts.js"
import { bytes, count, exact, list, nothing, seconds, some, stamped } from "./format.js"

const modes = {
	checkpoint: "Its state is kept in checkpoints: a crash takes it back to the last one.",
	journal: "Its state is kept in checkpoints, and what it takes in between them in a journal: a crash loses none of it.",
	none: "Its state is not kept: it begins anew with each start.",
}

/** Kept says what of a graph is kept, and where it runs. */
export const Kept = ({ s }) => {
	const d = s.durability
	return html`<section aria-labelledby="kept">
		<h2 id="kept">Checkpoints</h2>
		<p class="says">${modes[d.mode] ?? d.mode}${d.checkpoint_age_seconds == null ? " There has been none yet." : ""}</p>
		<dl class="facts">
			<dt>Last one</dt><dd>${d.checkpoint_age_seconds == null ? nothing : html`epoch ${exact(d.checkpoint_epoch)},
				${" "}${seconds(Math.floor(d.checkpoint_age_seconds))} ago`}${s.epoch > d.checkpoint_epoch && d.checkpoint_age_seconds != null &&
				!s.shards ? html` <span class="dim">(${some(s.epoch - d.checkpoint_epoch, "epoch")} since)</span>` : ""}</dd>
			<dt>It wrote</dt><dd>${bytes(d.checkpoint_bytes)}</dd>
			<dt>Runs at</dt><dd>${s.instance || nothing}${s.keys?.shards_running ? html`, ${exact(s.keys.shards_running)} of
				${" "}${some(s.keys.shards, "shard")}` : ""}</dd>
			<dt>Start</dt><dd>number ${exact(s.incarnation)}</dd>
			${s.engine_time && html`<dt>Its time</dt><dd><time dateTime=${s.engine_time} title=${s.clock_by}>${stamped(s.engine_time)}</time></dd>`}
			${s.last_update && html`<dt>Last update</dt><dd>${s.last_update.ok ? "" : html`<span class="badge bad">✖ refused</span> `}
				<${When} at=${s.last_update.at} />: ${s.last_update.detail}</dd>`}
		</dl>
	</section>`
}

/** Followers are the graphs that follow outputs. */
export const Followers = ({ of }) => !of?.length ? null : html`<ul class="reasons">${of.map(f => html`<li>
	<${Link} href=${toGraph(f.graph)}>${f.graph}<//> follows it, by <strong>${f.accumulator}</strong>${f.behind == null ? "" :
		f.behind === 0 ? ", and has all of it" : `, and has ${some(f.behind, "value")} not yet`}</li>`)}</ul>`

const ofEach = 20, mostHappened = 500

const outcomes = { restarted: "good", failed: "bad", pending: "wait" }

/** onto is the newest page with what was there behind it, where the two meet. */
const onto = (found, was) => {
	const fresh = new Set(found.items.map(e => e.id))
	return was?.items.some(e => fresh.has(e.id)) ? { ...was, items: [...found.items, ...was.items.filter(e => !fresh.has(e.id))] } : found
}

/** Happened lists what has happened to a graph, once somebody asks for it. */
export const Happened = ({ s }) => {
	const open = query("happened") === "1"
	const [got, put] = useState({}), [turn, again] = useState(0)
	const get = (before, signal) => ask("GET", graphPath(s.graph, "/recovery-events?" + new URLSearchParams({ limit: ofEach,
		...before && { before } })), { signal })
	// What happens ends a run, or changes the health: then it is asked for again.
	const of = [s.graph, s.incarnation, s.health, s.revision, s.accumulators.reduce((n, a) => n + a.restarts + a.incarnation, 0)].join()
	useEffect(() => {
		if (!open) return
		const ends = new AbortController()
		get("", ends.signal).then(found => put(is => ({ value: onto(found, is.value) })), no => no.name !== "AbortError" && put(is => ({ ...is, trouble: no.message })))
		return () => ends.abort()
	}, [open, of, turn])
	if (!open) return html`<section aria-labelledby="happened"><div class="bar"><h2 id="happened">What has happened to it</h2>
		<button onClick=${() => set({ happened: "1" })}>Show restarts and updates</button></div></section>`
	const more = async () => {
		try {
			const { items, next } = await get(got.value.next)
			put(is => is.value.next === got.value.next ? { value: { items: [...is.value.items, ...items], next } } : is)
		} catch (no) {
			put(is => ({ ...is, trouble: no.message }))
		}
	}
	const items = got.value?.items ?? []
	return html`<section aria-labelledby="happened">
		<div class="bar"><h2 id="happened">What has happened to it</h2>
			<span><button onClick=${() => again(turn + 1)}>Look again</button>${" "}
				<button class="quiet" aria-label="Close" onClick=${() => set({ happened: "" })}>✕</button></span></div>
		${got.trouble && html`<div class="notice bad" role="alert"><p>${got.trouble}</p></div>`}
		${!got.value ? !got.trouble && html`<${Waiting} />` : items.length === 0 ? html`<p class="empty">Nothing has: no part of it was
			restarted, and no update came, as far as that is kept (30 days). <${Doc} to="operations#health">What can happen<//></p>` : html`
		<ul class="letters">${items.map(e => html`<li key=${e.id}><details><summary><${Clock} at=${e.at} />
			<span class="dim"> ${stamped(e.at).split(",").slice(0, 2).join(",")}</span>
			${" "}<strong>${e.kind.replaceAll("_", " ")}</strong> <span class=${"badge " + (outcomes[e.outcome] ?? "idle")}>${e.outcome}</span>
			${" "}${e.reason}</summary>
			<dl class="facts"><dt>Of</dt><dd>${e.component}${e.shard ? `, shard ${e.shard}` : ""}</dd>
				<dt>Reason</dt><dd>${e.reason || nothing}</dd>
				${e.attempt > 0 && html`<dt>Attempt</dt><dd>${exact(e.attempt)}${e.delay_ns > 0 && `, after ${seconds(e.delay_ns / 1e9)}`}</dd>`}
				<dt>Start</dt><dd>number ${exact(e.incarnation)}</dd></dl>
			${e.stack && html`<pre class="value" tabindex="0" role="group" aria-label="Stack">${e.stack}</pre>`}</details></li>`)}</ul>`}
		${got.value?.next && items.length < mostHappened && html`<button class="more" onClick=${more}>Earlier ones</button>`}
	</section>`
}

/** sorted durations: the one below which a share of them lies. */
const at = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

const edges = [10, 20, 50, 100, 200, 500] // of a decade's microseconds, tenfold

/** toldOf says of epochs that they are not all that there were. */
export const toldOf = " that the page was told of, the rare ones among them more often"

/** Latency is how long the epochs took that the page holds: how many lie between two bounds; told says which these are. */
export const Latency = ({ rows, told = "" }) => {
	const took = rows.filter(f => !f.gap && f.ok).map(f => Math.max(1, f.duration_us)).sort((a, b) => a - b)
	if (took.length < 5) return null
	const bounds = []
	for (let scale = 1; scale <= 1e6; scale *= 100) bounds.push(...edges.map(e => e * scale))
	const bars = bounds.map((high, i) => [bounds[i - 1] ?? 0, high, 0])
	bars.push([bounds.at(-1), Infinity, 0])
	for (const us of took) bars.find(([, high]) => us <= high)[2]++
	const first = bars.findIndex(b => b[2]), last = bars.findLastIndex(b => b[2])
	const seen = bars.slice(Math.max(0, first - 1), last + 2), most = Math.max(...seen.map(b => b[2]))
	const says = `Of ${some(took.length, "epoch")}${told && told + ","} half took at most ${seconds(at(took, .5) / 1e6)}, 99 of 100 at most ${
		seconds(at(took, .99) / 1e6)}, the longest ${seconds(took.at(-1) / 1e6)}.`
	return html`<p class="legend">${says}</p>
		<div class="bars" role="group" tabindex="0" aria-label=${says}>${seen.map(([low, high, n]) => html`<div title=${`${seconds(low / 1e6)} to ${
			high === Infinity ? "more" : seconds(high / 1e6)}: ${some(n, "epoch")}`}>
			<span class="many">${n ? count(n) : ""}</span><span class="fill" style=${{ height: Math.round(56 * n / most) + "px" }}></span>
			<span class="high">${high === Infinity ? "…" : "≤ " + seconds(high / 1e6)}</span></div>`)}</div>`
}

/** Watermarks are how far inputs have come, in the words of their sources, and in the time of their events. */
export const Watermarks = ({ s }) => {
	const of = s.accumulators.filter(a => a.position || a.watermark)
	return of.length === 0 ? null : html`<section aria-labelledby="marks">
		<h2 id="marks">How far the inputs have come</h2>
		${s.held_back_by && html`<p class="says"><strong>${s.held_back_by}</strong> holds the others back.</p>`}
		<dl class="facts">${of.map(a => html`<dt>${a.name}</dt><dd>${a.position && html`${parts(a.position).length > 1 ? html`<span class="dim">
			${some(parts(a.position).length, "stream")}</span> ` : ""}<code>${list(parts(a.position).slice(0, 64))}</code>
			${a.lag != null && html` <span class="dim">${a.lag === 0 ? "at the end" : some(a.lag, "event") + " behind"}</span>`}`}
			${a.watermark && html`<${Mark} name=${a.name} of=${a.watermark} />`}</dd>`)}</dl>
	</section>`
}

const partition = name => name === "" ? "pushes" : name

/** Mark is how far the time of events has come, and by which partition of the input that goes. */
const Mark = ({ name, of }) => html`<p>Its watermark is at <time dateTime=${of.at}>${stamped(of.at)}</time>${of.all > 1 ? html`: <strong>
		${partition(of.held_by)}</strong> ${of.partitions[0]?.idle ? "is furthest ahead, and all are silent" : "holds it back"}` : ""}.</p>
	${of.all > 1 && html`<details><summary>${some(of.all, "partition")}</summary><div class="scroll" tabindex="0" role="group"
		aria-label=${"Partitions of " + name}><table><thead><tr><th scope="col">Partition</th><th scope="col">Newest event of</th>
			<th scope="col">Last heard of</th><th scope="col">Waited for</th></tr></thead>
		<tbody>${of.partitions.map(p => html`<tr key=${p.partition}><th scope="row">${partition(p.partition)}</th><td>${p.newest ?
			stamped(p.newest) : nothing}</td><td><${When} at=${p.heard} /></td><td>${p.idle ? html`<span class="dim">no, it is silent</span>` :
			p.partition === of.held_by ? html`<span class="badge warn">▲ holds it back</span>` : "yes"}</td></tr>`)}</tbody></table></div>
		${of.all > of.partitions.length && html`<p class="dim">Those that are furthest behind are here; the others are ahead of them, or silent.</p>`}
	</details>`}`

/** polled is the position of a polled statement: which change it is, and up to where rows were read. The rest is digests. */
const polled = one => one.replace(/^(rows~[^#]*)#.(.*),[^,]*:(\d+)$/s, (_, part, bound, n) => `${part}:${n}` + (bound && ` up to ${bound}`))

const parts = position => (position.startsWith("rows~") ? position.split(/,(?=rows~[0-9a-f]+#)/).map(polled) :
	position.split(",")).map(p => p.trim()).filter(Boolean)
