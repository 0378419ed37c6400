// Outputs and firings as they come: held, chosen by an expression, and kept as lines of JSON.
import { html, useEffect, useMemo, useRef, useState, signal } from "./vendor.js"
import { open, slowly } from "./stream.js"
import { query, set, Link, toGraph } from "./route.js"
import { Away, Clock, Doc } from "./parts.js"
import { atDaemon, brief, count, exact, some } from "./format.js"

const most = 10000, mostBytes = 32 << 20 // of the rows that are there
const height = 28, around = 6, tall = 480 // pixels of a row, rows beyond those that are seen, and pixels of all that are

const kinds = { outputs: "Outputs", firings: "Firings" }

/** listen has rows of what comes, the newest last. */
const listen = (graph, topics, where) => {
	const m = { rows: [], bytes: 0, gone: 0, version: signal(0), wrong: signal(""), held: null }
	const changed = slowly(() => { m.version.value++ })
	const add = (f, size = 0) => {
		m.rows.push({ f, size, n: m.gone + m.rows.length, at: f.firing?.at ?? new Date(atDaemon()).toISOString() })
		m.bytes += size
		let over = 0, bytes = m.bytes
		while (m.rows.length - over > most || bytes > mostBytes && m.rows.length - over > 1) bytes -= m.rows[over++].size
		// Many at a time, so that not each that comes moves all the others.
		if (over > 500 || over && bytes < m.bytes - mostBytes / 20) {
			m.rows.splice(0, over)
			m.bytes = bytes
			m.gone += over
		}
		changed()
	}
	// The summary comes every few seconds: without it a graph that gives nothing would count as gone.
	m.stream = open(`/v1/ws/graphs/${encodeURIComponent(graph)}/reactor`, [...topics, "summary"], {
		resumes: true, where: where || undefined,
		again() { m.wrong.value = "" },
		heard(f, size) {
			if (f.type === "error") m.wrong.value = f.detail
			else if (["output", "firing", "gap"].includes(f.type)) add(f, size)
		},
	})
	return m
}

/** shown are the rows that may be shown: the newest of those that are there. */
const shown = rows => rows.slice(-most)

const line = f => JSON.stringify(f)

/** save has the browser keep rows as a file of lines, the oldest first. */
const save = (graph, rows) => {
	const url = URL.createObjectURL(new Blob(rows.map(r => line(r.f) + "\n"), { type: "application/x-ndjson" }))
	const a = document.createElement("a")
	a.href = url
	a.download = `${graph}-${new Date(atDaemon()).toISOString().slice(0, 19).replaceAll(":", "")}.ndjson`
	a.click()
	setTimeout(() => URL.revokeObjectURL(url), 60000)
}

/** Tail follows what a graph puts out, and its firings, once somebody asks for it. */
export const Tail = ({ s }) => {
	if (query("tail") === "") return html`<section aria-labelledby="tail"><div class="bar"><h2 id="tail">Tail</h2>
		<button onClick=${() => set({ tail: "outputs" })}>Follow outputs and firings</button></div></section>`
	return html`<${Followed} key=${s.graph} s=${s} />`
}

const Followed = ({ s }) => {
	const of = Object.hasOwn(kinds, query("tail")) ? [query("tail")] : Object.keys(kinds)
	const where = query("tail-where"), [text, type] = useState(where), [late, setLate] = useState(where)
	useEffect(() => { // what is typed is followed once that has ended
		if (text === late) return
		const wait = setTimeout(() => {
			setLate(text)
			set({ "tail-where": text.trim() }, true)
		}, 500)
		return () => clearTimeout(wait)
	}, [text])
	const m = useMemo(() => listen(s.graph, of, late.trim()), [s.graph, of.join(), late])
	useEffect(() => m.stream.close, [m])
	const [held, hold] = useState(null)
	useEffect(() => hold(null), [m])
	m.version.value
	const rows = held ?? shown(m.rows), last = rows.at(-1)?.n ?? m.gone - 1, fresh = m.gone + m.rows.length - 1 - last
	const close = () => set({ tail: "", "tail-where": "" })
	return html`<section aria-labelledby="tail">
		<div class="bar"><h2 id="tail">Tail</h2>
			<span><button aria-pressed=${held ? "true" : "false"} onClick=${() => hold(held ? null : shown(m.rows))}>
				${held ? `Go on${fresh ? `, ${count(fresh)} new` : ""}` : "Pause"}</button>${" "}
			<button disabled=${!rows.length} onClick=${() => save(s.graph, rows)}>Save ${some(rows.length, "line")}</button>${" "}
			<button class="quiet" aria-label="Close" onClick=${close}>✕</button></span></div>
		<div class="choice">
			<label>Show <select value=${query("tail")} onChange=${event => set({ tail: event.target.value }, true)}>
				${Object.entries(kinds).map(([id, name]) => html`<option value=${id}>${name}</option>`)}
				<option value="both">Outputs and firings</option></select></label>
			<label>Where <input type="search" class="wide" value=${text} spellcheck="false" placeholder="value.price > 100"
				aria-invalid=${m.wrong.value ? "true" : "false"} onInput=${event => type(event.target.value)} /></label>
		</div>
		<${Away} stream=${m.stream} />
		${m.wrong.value && html`<p class="bad" role="alert">${m.wrong.value}</p>`}
		${rows.length === 0 ? !m.wrong.value && m.stream.state.value.name === "live" && html`<p class="empty">${late.trim() ? "Nothing has come for which this is true." :
			"Nothing has come yet: what the graph puts out from now on stands here."} <${Doc} to="why#why-not">Why nothing may come<//></p>` :
			html`<${Rows} rows=${rows} s=${s} held=${held != null} hold=${() => hold(shown(m.rows))} />`}
		${rows.length >= most && html`<p class="dim">The newest ${exact(most)} are here.</p>`}
	</section>`
}

/** Rows draws those that can be seen, the newest on top. Who reads further down holds them. */
const Rows = ({ rows, s, held, hold }) => {
	const at = useRef(), [top, scroll] = useState(0)
	useEffect(() => { if (!held) at.current.scrollTop = 0 }, [held])
	const first = Math.max(0, Math.floor(top / height) - around), n = Math.ceil(tall / height) + 2 * around
	const list = []
	for (let i = first; i < Math.min(rows.length, first + n); i++) list.push([i, rows[rows.length - 1 - i]])
	return html`<div class="tail" ref=${at} tabindex="0" role="log" aria-live="off" aria-label="What has come, the newest first"
		onScroll=${event => {
			scroll(event.target.scrollTop)
			if (!held && event.target.scrollTop > height) hold()
		}}>
		<ol style=${{ height: rows.length * height + "px" }}>${list.map(([i, r]) => html`<${Row} key=${r.n} r=${r} i=${i} s=${s} />`)}</ol>
	</div>`
}

const Row = ({ r, i, s }) => {
	const f = r.f, style = { top: i * height + "px" }
	if (f.type === "gap") return html`<li class="gap" style=${style}>${f.from == null ? "A gap: what came in between is not known." :
		`A gap: ${some(f.to - f.from + 1, "frame was", "frames were")} missed here.`}</li>`
	const epoch = html`<${Link} href=${toGraph(s.graph, { epoch: String(f.epoch), shard: f.shard ? String(f.shard) : "",
		tail: query("tail"), "tail-where": query("tail-where") })} aria-label=${`Epoch ${f.shard != null ? `${f.shard}/` : ""}${exact(f.epoch)} in full`}>${f.shard != null && `${f.shard}/`}${exact(f.epoch)}<//>`
	const key = f.firing ? f.firing.key : f.key
	const value = f.type === "output" ? f.value : f.firing.outputs
	return html`<li style=${style}><${Clock} at=${r.at} /> ${epoch} <strong>${f.output ?? f.firing.cause}</strong>
		${key != null && html` <code class="dim">${brief(key, 24)}</code>`}${" "}
		${f.firing && !f.firing.ok ? html`<span class="bad">✖ ${f.firing.error}</span>` : html`<code>${brief(value, 400)}</code>`}</li>`
}
