// The picture of a graph: where events come from, what the reactor takes of them, what is computed, where it goes.
// Where each piece stands follows from the plan alone, so that nothing moves while values do.
import { html, useEffect, useMemo, useRef, useState } from "./vendor.js"
import { arrange, r } from "./arrange.js"
import { Waiting } from "./parts.js"
import { brief, count, rate, inputOf, nothing, own, some } from "./format.js"

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
			const { taken, absent, events, value } = inputOf(firing, b.name)
			return { state: taken ? "ran" : "", value, tag: taken ? some(events, "event") : absent ? "absent" : "read again" }
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

/** Box is drawn anew when what it shows has changed: of three hundred few have, and the others cost nothing. */
const Box = ({ b, look, chosen, near, focusable }) => useMemo(() => {
	const text = b.kind === "source" ? "" : look.value === undefined ? nothing : brief(look.value, 21)
	const says = [kinds[b.kind], b.name, b.caption, look.tag, look.state.replace("_", " "),
		b.kind === "source" ? "" : "value " + brief(look.value, 40)].filter(Boolean).join(", ")
	return html`<g class=${["box", b.kind, look.state, chosen ? "chosen" : "", near ? "near" : ""].join(" ")}
		transform=${`translate(${r(b.x)},${r(b.y)})`} role="button" tabindex=${focusable ? "0" : "-1"} data-id=${b.id}
		aria-pressed=${chosen ? "true" : "false"}>
		<title>${says}</title>
		<rect class="frame" width=${b.w} height=${b.h} rx=${b.kind === "source" || b.kind === "output" ? 17 : 7} />
		${b.kind === "source" ? html`<text class="name" x=${b.w / 2} y="21.500" text-anchor="middle">${cut(b.name, 20)}</text>` : html`
			<text class="name" x="12" y="25">${cut(b.name, look.tag || b.caption ? 14 : 20)}</text>
			<text class="tag" x=${b.w - 11} y="25" text-anchor="end">${cut(look.tag || b.caption, 12)}</text>
			<text class="text" x="12" y="47">${text}</text>`}
		${look.fill > 0 && html`<rect class=${"fill " + pressed(look.fill)} x="8" y=${b.h - 6} height="3" rx="1.500"
			width=${Math.max(3, (b.w - 16) * Math.min(1, look.fill))} />`}
	</g>`
}, [b, look.state, look.value, look.tag, look.fill, chosen, near, focusable])

const Line = ({ l, look }) => useMemo(() => html`<path class=${look} d=${l.path} marker-end="url(#tip)" />`, [l, look])

const pressed = fill => fill >= 0.8 ? "bad" : fill >= 0.5 ? "warn" : ""

const few = 60 // pieces that are arranged at once
const atOnce = 75 // that are drawn in one frame

/** useArranged is where the pieces stand, null as long as that is found out beside the page, and by whom it was found. */
const useArranged = (plan, accumulators) => {
	const of = [plan, accumulators.map(a => a.name + a.kind + a.source).join()]
	const small = plan.inputs.length + plan.nodes.length + plan.outputs.length <= few
	const now = useMemo(() => small ? arrange(plan, accumulators) : null, of), [later, put] = useState(null)
	useEffect(() => {
		if (small) return
		const beside = new Worker(new URL("layout.js", import.meta.url), { type: "module" })
		beside.onmessage = ({ data }) => {
			put({ ...data, by: "worker" })
			beside.terminate()
		}
		beside.onerror = () => put(arrange(plan, accumulators)) // late, and all the same
		beside.postMessage({ plan, accumulators })
		return () => beside.terminate()
	}, of)
	return now ?? later
}

/** Picture draws a graph; firing is one to show in place of what is now. */
export const Picture = of => {
	const p = useArranged(of.plan, of.summary.accumulators)
	return p ? html`<${Drawn} ...${of} p=${p} />` : html`<${Waiting} />`
}

const Drawn = ({ p, summary, live, firing, chosen, choose, whole }) => {
	const frame = useRef(), [room, setRoom] = useState(0), [pointed, point] = useState("")
	const boxes = useMemo(() => [...p.boxes.values()], [p]), [drawn, draw] = useState(atOnce)
	useEffect(() => { // many come into the picture a part with each frame, so that none of these is long
		if (drawn >= boxes.length) return
		const next = requestAnimationFrame(() => draw(drawn + atOnce))
		return () => cancelAnimationFrame(next)
	}, [boxes, drawn])
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
	const idAt = event => event.target.closest?.("[data-id]")?.dataset.id ?? ""
	const press = event => {
		const id = idAt(event)
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
	return html`<div class="picture" ref=${frame} data-arranged=${p.by ?? "page"} tabindex=${p.width * scale > room + 1 || p.height * scale > innerHeight / 2 ? "0" : undefined}
		role="group" aria-label="Picture of the graph; arrow keys lead from piece to piece" onKeyDown=${press}>
		<svg width=${p.width * scale} height=${p.height * scale} viewBox=${`0 0 ${p.width} ${p.height}`}
			onClick=${event => idAt(event) && choose(idAt(event))} onMouseOver=${event => point(idAt(event))}
			onMouseLeave=${() => point("")} onFocusIn=${event => point(idAt(event))} onFocusOut=${() => point("")}>
			<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">
				<path d="M0,0.500L8,4L0,7.500z" /></marker></defs>
			${p.lines.slice(0, drawn < boxes.length ? drawn : undefined).map(l => html`<${Line} l=${l} look=${["line", l.kind, flowing(l, live, firing),
				pointed && (l.from === pointed || l.to === pointed) ? "near" : ""].join(" ")} />`)}
			${p.lines.filter(l => l.to === "reactor").map(l => html`<${Carried} key=${l.from} l=${l} p=${p} live=${live} firing=${firing} />`)}
			${p.lines.filter(l => l.label && l.middle).map(l => html`<text class="label" x=${l.middle.x} y=${l.middle.y - 5}
				text-anchor="middle">${l.label}</text>`)}
			<${Gate} bar=${p.bar} summary=${summary} firing=${firing} />
			${boxes.slice(0, drawn).map(b => html`<${Box} key=${b.id} b=${b} look=${lookOf(b, live, firing)}
				chosen=${b.id === chosen} near=${near.has(b.id)} focusable=${b.id === first} />`)}
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
