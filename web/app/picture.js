// The picture of a graph: where events come from, what the reactor takes of them, what is computed, where it goes.
// Where each piece stands follows from the plan alone, so that nothing moves while values do.
import { html, useEffect, useMemo, useRef, useState, Graph, layout } from "./vendor.js"
import { brief, count, rate, nothing, own, some } from "./format.js"

const width = 172, height = 64, gateWidth = 104

const sourceOf = a => a.source === "node" || a.source === "join" ? "" : a.source

/** arrange lays a plan out: boxes by id, the lines between them, and the reactor, which all inputs lead to. */
export const arrange = (plan, accumulators) => {
	const g = new Graph({ multigraph: true }).setGraph({ rankdir: "LR", nodesep: 18, ranksep: 56, marginx: 14, marginy: 14 })
	g.setDefaultEdgeLabel(() => ({}))
	const boxes = new Map(), lines = []
	const box = (id, kind, name, caption) => {
		boxes.set(id, { id, kind, name, caption })
		g.setNode(id, { width, height: kind === "source" ? 34 : height })
	}
	const line = (from, to, kind = "plain", label = "", laid = true) => {
		lines.push({ from, to, kind, label })
		if (laid) g.setEdge(from, to, {}, String(lines.length))
	}
	g.setNode("reactor", { width: gateWidth, height })
	const by = new Map(accumulators.map(a => [a.name, a]))
	const inputs = new Set(plan.inputs.map(i => i.name)), joined = new Set(plan.inputs.flatMap(i => i.joins ?? []))
	for (const i of plan.inputs) {
		const a = by.get(i.name), source = a && sourceOf(a)
		box("i:" + i.name, "input", i.name, a ? a.kind : "")
		if (source) {
			box("s:" + i.name, "source", source, "")
			line("s:" + i.name, "i:" + i.name)
		}
	}
	for (const n of plan.nodes) box("n:" + n.name, "node", n.name, n.kind)
	for (const i of plan.inputs) {
		for (const j of i.joins ?? []) if (inputs.has(j)) line("i:" + j, "i:" + i.name)
		if (i.from) line("n:" + i.from, "i:" + i.name, "back", "", false)
		if (i.triggers || !joined.has(i.name) || plan.edges.some(e => e.from === i.name)) line("i:" + i.name, "reactor",
			i.triggers ? "plain" : "passive")
	}
	const reads = new Map() // by node: the inputs it reads
	for (const e of plan.edges) {
		if (inputs.has(e.from)) reads.set(e.to, [...reads.get(e.to) ?? [], e.from])
		else line("n:" + e.from, "n:" + e.to, e.feedback || e.kind === "until" ? "back" : e.kind, e.route ?? "",
			!e.feedback && e.kind !== "until" && e.kind !== "delay")
	}
	for (const to of reads.keys()) line("reactor", "n:" + to)
	for (const n of plan.nodes) // one that reads nothing stands behind the reactor all the same
		if (!plan.edges.some(e => e.to === n.name)) line("reactor", "n:" + n.name)
	for (const o of plan.outputs) {
		box("o:" + o.name, "output", o.name, "")
		line(inputs.has(o.from) ? "reactor" : "n:" + o.from, "o:" + o.name)
	}
	layout(g)
	return drawn(g, boxes, lines, reads)
}

/** drawn is what a layout comes to: the reactor becomes a gate as high as the picture. */
const drawn = (g, boxes, lines, reads) => {
	const size = g.graph(), gate = g.node("reactor")
	for (const b of boxes.values()) {
		const at = g.node(b.id)
		Object.assign(b, { x: at.x - at.width / 2, y: at.y - at.height / 2, w: at.width, h: at.height })
	}
	const bar = { x: gate.x - gate.width / 2, w: gate.width, y: 6, h: Math.max(size.height - 12, 130) }
	let low = bar.y + bar.h
	lines.forEach((l, k) => {
		const laid = g.edge(l.from, l.to, String(k + 1))
		const from = boxes.get(l.from), to = boxes.get(l.to)
		const points = laid ? laid.points.map(p => ({ ...p })) : []
		if (l.to === "reactor") points.splice(0, points.length, right(from), { x: bar.x, y: from.y + from.h / 2 })
		else if (l.from === "reactor") { points[0] = { x: bar.x + bar.w, y: points[1]?.y ?? to.y + to.h / 2 } }
		if (laid && to) points[points.length - 1] = { x: to.x, y: to.y + to.h / 2 }
		if (laid && from) points[0] = right(from)
		l.path = laid ? smooth(points) : backwards(from, to, low += 9)
		l.middle = points.length ? points[Math.floor((points.length - 1) / 2)] : undefined
	})
	const first = [...boxes.values()].filter(b => b.kind === "input").map(b => b.y + b.h / 2)
	bar.at = Math.min(bar.y + bar.h - 60, Math.max(bar.y + 50, (Math.min(...first) + Math.max(...first)) / 2))
	return { boxes, lines, bar, reads, width: Math.ceil(size.width), height: Math.max(Math.ceil(size.height), Math.ceil(low) + 8) }
}

const right = b => ({ x: b.x + b.w, y: b.y + b.h / 2 })

/** smooth is a line through points that leaves and arrives level. */
const smooth = points => {
	let d = `M${r(points[0].x)},${r(points[0].y)}`
	for (let i = 1; i < points.length; i++) {
		const a = points[i - 1], b = points[i], half = (a.x + b.x) / 2
		d += Math.abs(a.y - b.y) < 1 ? `L${r(b.x)},${r(b.y)}` : `C${r(half)},${r(a.y)} ${r(half)},${r(b.y)} ${r(b.x)},${r(b.y)}`
	}
	return d
}

/** backwards is a line from one box to one before it: down beside the first, along below all, and up beside the other. */
const backwards = (from, to, low) => {
	const x = r(from.x + from.w), y = r(from.y + from.h * 0.7), side = 12, c = 6
	const back = r(to.x - side), end = r(to.y + to.h * 0.7), down = low > y ? 1 : -1
	return `M${x},${y}h${side - c}q${c},0 ${c},${c * down}V${r(low - c * down)}q0,${c * down} ${-c},${c * down}` +
		`H${back + c}q${-c},0 ${-c},${-c}V${end + c}q0,${-c} ${c},${-c}H${r(to.x)}`
}

const r = n => Math.round(n * 10) / 10

const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + "…" : text

/** well says of an input's health that nothing is wrong: one that is pushed to has no source that could be. */
export const well = health => health === "live" || health === "socket_only"

/** lookOf is what a box looks like now: values as they are, or as they were in one firing. */
const lookOf = (b, live, firing) => {
	const acc = live.accumulators.get(b.id.slice(2))
	switch (b.kind) {
	case "source":
		return { state: acc && !well(acc.health) ? "failed" : "", text: "" }
	case "input": {
		if (firing) {
			const took = own(firing.cut, b.name)
			return { state: took?.taken ? "ran" : "", value: own(firing.inputs, b.name),
				tag: took?.taken ? some(took.events, "event") : "read again" }
		}
		const dirty = own(live.state?.dirty, b.name) ?? acc?.dirty
		return { state: acc && !well(acc.health) && acc.health !== "stopped" ? "failed" : dirty ? "dirty" : "",
			value: own(live.state?.cache, b.name), tag: "",
			fill: acc?.capacity ? acc.depth / acc.capacity : 0 }
	}
	case "node": {
		if (firing) {
			const was = own(firing.nodes, b.name)
			return { state: was?.status ?? "", value: was?.value ?? undefined, tag: was?.status?.replace("_", " ") ?? "" }
		}
		return { state: live.changed.get(b.name) > live.at - 1500 ? "ran" : "", value: own(live.state?.nodes, b.name), tag: "" }
	}
	}
	if (firing) {
		const out = Object.hasOwn(firing.outputs ?? {}, b.name)
		return { state: out ? "ran" : "", value: own(firing.outputs, b.name), tag: out ? "put out" : "nothing" }
	}
	const o = live.outputs.get(b.name)
	return { state: o?.error ? "failed" : live.put.get(b.name)?.at > live.at - 1500 ? "ran" : "",
		value: live.put.get(b.name)?.value, tag: o ? o.sink : "" }
}

const kinds = { source: "source", input: "accumulator", node: "node", output: "output" }

const Box = ({ b, look, chosen, near, focusable, choose, point }) => {
	const text = b.kind === "source" ? "" : look.value === undefined ? nothing : brief(look.value, 21)
	const says = [kinds[b.kind], b.name, b.caption, look.tag, look.state.replace("_", " "),
		b.kind === "source" ? "" : "value " + brief(look.value, 40)].filter(Boolean).join(", ")
	return html`<g class=${["box", b.kind, look.state, chosen ? "chosen" : "", near ? "near" : ""].join(" ")}
		transform=${`translate(${r(b.x)},${r(b.y)})`} role="button" tabindex=${focusable ? "0" : "-1"} data-id=${b.id}
		aria-pressed=${chosen ? "true" : "false"} onClick=${() => choose(b.id)}
		onMouseEnter=${() => point(b.id)} onMouseLeave=${() => point("")} onFocus=${() => point(b.id)} onBlur=${() => point("")}>
		<title>${says}</title>
		<rect class="frame" width=${b.w} height=${b.h} rx=${b.kind === "source" || b.kind === "output" ? 17 : 7} />
		${b.kind === "source" ? html`<text class="name" x=${b.w / 2} y="21.500" text-anchor="middle">${cut(b.name, 20)}</text>` : html`
			<text class="name" x="12" y="25">${cut(b.name, look.tag || b.caption ? 14 : 20)}</text>
			<text class="tag" x=${b.w - 11} y="25" text-anchor="end">${cut(look.tag || b.caption, 12)}</text>
			<text class="text" x="12" y="47">${text}</text>`}
		${look.fill > 0 && html`<rect class=${"fill " + pressed(look.fill)} x="8" y=${b.h - 6} height="3" rx="1.500"
			width=${Math.max(3, (b.w - 16) * Math.min(1, look.fill))} />`}
	</g>`
}

const pressed = fill => fill >= 0.8 ? "bad" : fill >= 0.5 ? "warn" : ""

/** Picture draws a graph; firing is one to show in place of what is now. */
export const Picture = ({ plan, summary, live, firing, chosen, choose, whole }) => {
	const frame = useRef(), [room, setRoom] = useState(0), [pointed, point] = useState("")
	const sources = summary.accumulators.map(a => a.name + a.kind + a.source).join()
	const p = useMemo(() => arrange(plan, summary.accumulators), [plan, sources])
	useEffect(() => {
		const watch = new ResizeObserver(([e]) => setRoom(e.contentRect.width))
		watch.observe(frame.current)
		return () => watch.disconnect()
	}, [])
	const fits = Math.min(1, room / p.width, innerHeight * 0.66 / p.height)
	const scale = !room ? 1 : whole ? fits : Math.max(0.72, Math.min(1, room / p.width))
	useEffect(() => { // where it is higher than its frame the inputs stand in the middle of it
		const f = frame.current
		f.scrollTop = p.bar.at * scale - f.clientHeight / 2
	}, [p, scale])
	const near = pointed ? nearOf(p, pointed) : new Set()
	const first = p.boxes.has(chosen) ? chosen : p.boxes.keys().next().value
	const press = event => {
		const id = event.target.closest?.("[data-id]")?.dataset.id
		if (!id) return
		if (event.key === "Enter" || event.key === " ") {
			event.preventDefault()
			return choose(id)
		}
		const next = step(p, id, event.key)
		if (!next) return
		event.preventDefault()
		frame.current.querySelector(`[data-id="${CSS.escape(next)}"]`)?.focus()
	}
	return html`<div class="picture" ref=${frame} tabindex=${p.width * scale > room + 1 || p.height * scale > innerHeight / 2 ? "0" : undefined}
		role="group" aria-label="Picture of the graph; arrow keys lead from piece to piece" onKeyDown=${press}>
		<svg width=${p.width * scale} height=${p.height * scale} viewBox=${`0 0 ${p.width} ${p.height}`}>
			<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
				<path d="M0,0.500L8,4L0,7.500z" /></marker></defs>
			${p.lines.map(l => html`<path class=${["line", l.kind, flowing(l, live, firing),
				pointed && (l.from === pointed || l.to === pointed) ? "near" : ""].join(" ")} d=${l.path} marker-end="url(#tip)" />`)}
			${p.lines.map(l => html`<${Carried} l=${l} p=${p} live=${live} firing=${firing} />`)}
			${p.lines.filter(l => l.label && l.middle).map(l => html`<text class="label" x=${l.middle.x} y=${l.middle.y - 5}
				text-anchor="middle">${l.label}</text>`)}
			<${Gate} bar=${p.bar} summary=${summary} firing=${firing} />
			${[...p.boxes.values()].map(b => html`<${Box} key=${b.id} b=${b} look=${lookOf(b, live, firing)}
				chosen=${b.id === chosen} near=${near.has(b.id)} focusable=${b.id === first} choose=${choose} point=${point} />`)}
		</svg>
	</div>`
}

/** Carried is what comes along a line from an input to the reactor, and what waits there. */
const Carried = ({ l, p, live, firing }) => {
	const from = p.boxes.get(l.from), acc = l.to === "reactor" && !firing && from && live.accumulators.get(from.name)
	if (!acc || !(acc.rate > 0 || acc.depth > 0)) return null
	const x = (from.x + from.w + p.bar.x) / 2 - 3, y = from.y + from.h / 2
	return html`${acc.rate > 0 && html`<text class="label" x=${x} y=${y - 6} text-anchor="middle">${rate(acc.rate)}</text>`}
		${acc.depth > 0 && html`<text class=${"label " + pressed(acc.depth / acc.capacity)} x=${x} y=${y + 15} text-anchor="middle">
			<title>${`${count(acc.depth)} of ${count(acc.capacity)} wait`}</title>${count(acc.depth)}</text>`}`
}

/** flowing says how a line between a source, an input and the reactor is doing. */
const flowing = (l, live, firing) => {
	if (firing || !l.from.startsWith("i:") && !l.from.startsWith("s:")) return ""
	const acc = live.accumulators.get(l.from.slice(2))
	if (!acc) return ""
	return acc.capacity ? pressed(acc.depth / acc.capacity) || (acc.rate > 0 ? "flows" : "") : acc.rate > 0 ? "flows" : ""
}

/** nearOf are a piece's neighbours; of a node the inputs that it reads through the reactor, too. */
const nearOf = (p, id) => {
	const near = new Set([id])
	for (const l of p.lines) {
		if (l.from === id) near.add(l.to)
		if (l.to === id) near.add(l.from)
	}
	if (id.startsWith("n:")) for (const i of p.reads.get(id.slice(2)) ?? []) near.add("i:" + i)
	if (id.startsWith("i:")) for (const [n, of] of p.reads) if (of.includes(id.slice(2))) near.add("n:" + n)
	return near
}

/** step is the next piece in the direction of an arrow key. */
const step = (p, id, key) => {
	const [dx, dy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key] ?? []
	if (dx === undefined) return
	const at = p.boxes.get(id)
	let best, least = Infinity
	for (const b of p.boxes.values()) {
		const x = b.x + b.w / 2 - at.x - at.w / 2, y = b.y + b.h / 2 - at.y - at.h / 2
		const along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx)
		if (along <= 1 || along + 2 * aside >= least) continue
		best = b.id
		least = along + 2 * aside
	}
	return best
}

const Gate = ({ bar, summary, firing }) => {
	const x = bar.x + bar.w / 2, y = bar.at
	const state = firing ? firing.cause : summary.paused ? "paused" : summary.health !== "live" &&
		summary.health !== "degraded" ? summary.health : summary.waiting_for?.length ? "waits" : "ready"
	return html`<g class=${"gate " + (firing ? "" : state)}>
		<title>The reactor holds the newest of every input, and decides when an epoch runs.</title>
		<rect x=${bar.x} y=${bar.y} width=${bar.w} height=${bar.h} rx="9" />
		<text class="name" x=${x} y=${y - 22} text-anchor="middle">reactor</text>
		<text class="text" x=${x} y=${y - 2} text-anchor="middle">${firing ? "epoch" : summary.shards ? "epochs" : "epoch"}</text>
		<text class="number" x=${x} y=${y + 17} text-anchor="middle">${count(firing ? firing.epoch : summary.epoch)}</text>
		<text class="tag" x=${x} y=${y + 38} text-anchor="middle">${state}</text>
	</g>`
}
