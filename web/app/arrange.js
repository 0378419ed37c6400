// Where the pieces of a graph's picture stand. It follows from the plan alone, so that nothing moves while values do.
import { Graph, layout } from "./vendor.js"

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

/** r is a number as a path has it. */
export const r = n => Math.round(n * 10) / 10
