// The overview: every graph in a row, what needs somebody first.
import { html, useEffect, useLayoutEffect, useRef, useMemo, useState, signal } from "./vendor.js"
import { open, slowly } from "./stream.js"
import { place, query, set, to, Link, toGraph, tenant } from "./route.js"
import { may } from "./who.js"
import { Health, healths, Top, Away, When, Waiting, withHealth, worst, Doc } from "./parts.js"
import { count, rate, bytes, cores, some, nothing, list } from "./format.js"

/** urgency orders graphs by how much they need somebody, the first first. */
const urgency = r => {
	const n = worst(r.health)
	if (r.health !== "live") return Math.max(0, n)
	return n + (needy(r) ? 1 : r.dead_letters > 0 ? 2 : r.paused ? 3 : 4)
}

/** needy says that somebody has to look: a live graph too has a reason where what comes is lost to it, or waits. */
const needy = r => r.health !== "live" || r.health_reason || r.failing > 0 || r.stale > 0

/** columns are what a row shows: how it is ordered by, and what of it is told. */
const columns = [
	{ id: "graph", name: "Graph", by: r => r.graph, first: 1 },
	{ id: "health", name: "Health", by: urgency, first: 1 },
	{ id: "events", name: "Events", by: r => r.events_per_second ?? 0, show: r => rate(r.events_per_second) },
	{ id: "epochs", name: "Epochs", by: r => r.epochs_per_second, show: r => rate(r.epochs_per_second) },
	{ id: "lag", name: "Lag", title: "events that wait at the sources", by: r => r.lag ?? -1, show: r => count(r.lag) },
	{ id: "fired", name: "Last fire", by: r => r.last_fired_at ?? "", show: r => html`<${When} at=${r.last_fired_at} />` },
	{ id: "letters", name: "Dead letters", by: r => r.dead_letters, show: r => count(r.dead_letters) },
	{ id: "cpu", name: "CPU", title: "of one core", by: r => r.cores ?? 0, show: r => cores(r.cores) },
	{ id: "memory", name: "Memory", by: r => r.memory_bytes, show: r => bytes(r.memory_bytes) },
	{ id: "shards", name: "Shards", by: r => r.shards ?? 1,
		show: r => r.shards ? `${r.shards_running ?? r.shards}/${r.shards}` : html`<span class="dim">${nothing}</span>` },
]

/** useGraphs follows all graphs. */
const useGraphs = () => {
	const all = useMemo(() => {
		const rows = new Map(), version = signal(0), about = signal(null)
		const changed = slowly(() => { version.value++ })
		let told = new Set()
		const stream = open("/v1/ws/events", ["summary", "health"], {
			again() { told = new Set(); about.value = null },
			heard(f) {
				if (f.type === "summary" && f.list) {
					if (!about.value) for (const name of rows.keys()) if (!told.has(name)) rows.delete(name)
					about.value = f.list
				} else if (f.type === "summary" && f.removed) {
					rows.delete(f.graph)
				} else if (f.type === "summary" && f.row) {
					told.add(f.graph)
					rows.set(f.graph, f.row)
				} else if (f.type === "health" && rows.has(f.graph) && !f.shard && !rows.get(f.graph).shards) {
					rows.set(f.graph, withHealth(rows.get(f.graph), f))
				} else {
					return
				}
				changed()
			},
		})
		return { rows, version, about, stream }
	}, [tenant.value])
	useEffect(() => all.stream.close, [all])
	return all
}

/** chosen are the rows that the address asks for, in its order. */
const chosen = rows => {
	const words = query("q").toLowerCase().split(/\s+/).filter(Boolean), health = query("health")
	const sort = columns.find(c => c.id === query("sort", "health")) ?? columns[1]
	const up = (query("dir") || (sort.first ? "up" : "down")) === "up" ? 1 : -1
	return rows.filter(r => (!health || (health === "attention" ? needy(r) : r.health === health)) && words.every(w =>
		r.graph.toLowerCase().includes(w) || (r.description ?? "").toLowerCase().includes(w))).sort((a, b) => {
		const x = sort.by(a), y = sort.by(b)
		return x < y ? -up : x > y ? up : a.graph < b.graph ? -1 : 1
	})
}

export const Overview = () => {
	const { rows, version, about, stream } = useGraphs()
	const search = useRef()
	useEffect(() => {
		document.title = "Graphs · graphd"
		const key = event => {
			if (event.key !== "/" || /INPUT|TEXTAREA/.test(event.target.tagName) || event.ctrlKey || event.metaKey) return
			event.preventDefault()
			search.current?.focus()
		}
		addEventListener("keydown", key)
		return () => removeEventListener("keydown", key)
	}, [])
	version.value
	const all = [...rows.values()], shown = useMemo(() => chosen(all), [version.value, place.value])
	return html`<${Top} stream=${stream} />
	<main class=${stream.state.value.name === "away" ? "stale" : ""}>
		<div class="bar"><h1 tabindex="-1">Graphs</h1>
			${may("author") && html`<${Link} class="button" href=${to("/", { new: "1" })}>New graph …<//>`}</div>
		<${Away} stream=${stream} />
		${(about.value?.missing ?? []).map(m => html`<div class="notice warn" role="status"><p>
			<strong>${m.name || m.member} has not said how ${some(m.graphs.length, "graph stands", "graphs stand")}</strong>:
			${" " + m.detail} <${Doc} to=${"codes#" + m.code}>What to do<//></p></div>`)}
		${!about.value && all.length === 0 ? html`<${Waiting} />` : all.length === 0 ? html`<${None} />` : html`
			<${Totals} all=${all} />
			<${Choice} all=${all} shown=${shown.length} search=${search} />
			${shown.length === 0 ? html`<p class="empty">No graph fits. <button class="link"
				onClick=${() => set({ q: "", health: "" })}>Show all ${all.length}</button></p>` :
			html`<${Rows} rows=${shown} />`}`}
	</main>`
}

const None = () => html`<div class="empty">
	<p><strong>No graph runs here yet.</strong> A graph is a file that says what comes in, what is computed of it, and where
		it goes.</p>
	<pre tabindex="0"><code>graphd apply -f FILE      # apply one
graphd demo               # look at one that moves</code></pre>
	<p><${Doc} to="getting-started">A first graph<//> in five minutes, and <${Doc} to="recipes">recipes<//> to begin from.</p>
</div>`

const sum = (all, of) => all.reduce((n, r) => n + (of(r) ?? 0), 0)

const Totals = ({ all }) => html`<dl class="figures">
	<div class="figure"><dt>Graphs</dt><dd>${count(all.length)}</dd></div>
	<div class=${"figure " + (all.some(needy) ? "warn" : "")}><dt>Need a look</dt><dd>${count(all.filter(needy).length)}</dd>
	</div>
	<div class="figure"><dt>Events</dt><dd>${rate(sum(all, r => r.events_per_second))}</dd></div>
	<div class="figure"><dt>Epochs</dt><dd>${rate(sum(all, r => r.epochs_per_second))}</dd></div>
	<div class="figure"><dt>CPU, of a core</dt><dd>${cores(sum(all, r => r.cores))}</dd></div>
	<div class="figure"><dt>Memory</dt><dd>${bytes(sum(all, r => r.memory_bytes))}</dd></div>
</dl>`

const Choice = ({ all, shown, search }) => {
	const now = query("health")
	const there = Object.keys(healths).filter(h => all.some(r => r.health === h))
	const button = (id, name, n) => html`<button class="chip" aria-pressed=${now === id ? "true" : "false"}
		onClick=${() => set({ health: id })}>${name} <small>${count(n)}</small></button>`
	return html`<div class="choice" role="search">
		<label class="hidden" for="search">Search graphs</label>
		<input id="search" ref=${search} type="search" placeholder="Search (press /)" value=${query("q")} autocomplete="off"
			onInput=${event => set({ q: event.target.value }, true)} />
		<div class="chips" role="group" aria-label="Which graphs">
			${button("", "All", all.length)}
			${all.some(needy) && button("attention", "Need a look", all.filter(needy).length)}
			${there.length > 1 && there.map(h => button(h, h, all.filter(r => r.health === h).length))}
		</div>
		<p class="dim" role="status">${shown === all.length ? "" : some(shown, "graph") + " of " + count(all.length)}</p>
	</div>`
}

const narrow = matchMedia("(max-width: 760px)")

const around = 6 // rows beyond those that are seen

/**
 * useSlots says which element shows which graph. A graph that stays in sight keeps its own, and with it where one is;
 * those that go out of it leave theirs to those that come, for to make them anew costs a frame.
 */
const useSlots = graphs => {
	const was = useRef(new Map()), made = useRef(0), there = new Set(graphs), is = new Map()
	const free = [...was.current].filter(([graph]) => !there.has(graph)).map(([, slot]) => slot)
	for (const graph of graphs) is.set(graph, was.current.get(graph) ?? free.shift() ?? made.current++)
	return was.current = is
}

/** Rows shows those rows alone that can be seen, so that thousands scroll as few do. */
const Rows = ({ rows }) => {
	const at = useRef()
	const [seen, see] = useState({ from: 0, to: 40, small: narrow.matches })
	const height = seen.small ? 92 : 46
	useEffect(() => {
		const look = () => {
			const small = narrow.matches, h = small ? 92 : 46
			const top = -(at.current?.getBoundingClientRect().top ?? 0)
			const from = Math.max(0, Math.floor(top / h) - around), to = from + Math.ceil(innerHeight / h) + 2 * around + 1
			see(was => was.from === from && was.to === to && was.small === small ? was : { from, to, small })
		}
		look()
		addEventListener("scroll", look, { passive: true })
		addEventListener("resize", look)
		return () => {
			removeEventListener("scroll", look)
			removeEventListener("resize", look)
		}
	}, [rows.length])
	const from = Math.max(0, Math.min(seen.from, rows.length - (seen.to - seen.from))), to = from + seen.to - seen.from
	const slots = useSlots(rows.slice(from, to).map(r => r.graph))
	const sort = query("sort", "health"), dir = query("dir")
	const by = c => {
		const otherwise = c.first ? "up" : "down", now = c.id === sort ? dir || otherwise : ""
		const next = now === otherwise ? otherwise === "up" ? "down" : "up" : otherwise
		return html`<div role="columnheader" class=${"c-" + c.id} title=${c.title}
			aria-sort=${now === "up" ? "ascending" : now === "down" ? "descending" : "none"}>
			<button class="sort" onClick=${() => set({ sort: c.id === "health" ? "" : c.id, dir: next === otherwise ? "" : next })}>
				${c.name}<span aria-hidden="true">${now === "up" ? " ↑" : now === "down" ? " ↓" : ""}</span></button></div>`
	}
	return html`<div class="graphs" role="table" aria-label="Graphs" aria-rowcount=${rows.length + 1}>
		<div role="rowgroup" class="head"><div role="row" class="row" aria-rowindex="1">${columns.map(by)}</div></div>
		<div role="rowgroup" class="body" ref=${at} style=${{ height: rows.length * height + "px" }}>
			${rows.slice(from, to).map((r, i) => html`<${Row} key=${slots.get(r.graph)} row=${r} index=${from + i}
				top=${(from + i) * height} height=${height} />`)}
		</div>
	</div>`
}

const why = r => r.health_reason?.detail ?? (r.paused ? "nothing fires until it is resumed" :
	r.waiting_for?.length ? "waits for " + list(r.waiting_for) : r.description ?? "")

/** Row is drawn anew when its graph stands otherwise: scrolling draws those alone that come into sight. */
const Row = ({ row, index, top, height }) => {
	const at = useRef()
	useLayoutEffect(() => () => { // who is at a graph that goes out of sight is not at the one that takes its element
		if (at.current?.contains(document.activeElement)) document.activeElement.blur()
	}, [row.graph])
	return useMemo(() => html`<div role="row" ref=${at} class=${"row" + (needy(row) ? " needy" : "")}
		aria-rowindex=${index + 2} style=${{ top: top + "px", height: height + "px" }}>
		<div role="rowheader" class="c-graph"><${Link} href=${toGraph(row.graph)}>${row.graph}<//>
			<span class="why dim" title=${why(row)}>${why(row)}</span></div>
		<div role="cell" class="c-health"><${Health} health=${row.health} paused=${row.paused} reason=${row.health_reason} /></div>
		${columns.slice(2).map(c => html`<div role="cell" class=${"number c-" + c.id + (c.id === "letters" && row.dead_letters > 0 ?
			" warn" : "")} data-name=${c.name}>${c.show(row)}</div>`)}
	</div>`, [row, index, top, height])
}
