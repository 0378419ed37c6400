// Charts over time: what came a second, and each epoch as a point.
import { html, useEffect, useRef, uPlot } from "./vendor.js"
import { clock, seconds } from "./format.js"
import { useSeen } from "./parts.js"

const color = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** shaded draws the spans in which nothing was heard, so that a gap is seen as one. */
const shaded = gaps => u => {
	const { ctx, bbox } = u
	ctx.save()
	ctx.fillStyle = color("--gap")
	for (const [from, to] of gaps()) {
		const a = Math.max(bbox.left, u.valToPos(from, "x", true)), b = Math.min(bbox.left + bbox.width,
			u.valToPos(to, "x", true))
		if (b > a) ctx.fillRect(a, bbox.top, Math.max(2, b - a), bbox.height)
	}
	ctx.restore()
}

const axis = values => ({ stroke: color("--dim"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false },
	font: "12px system-ui, sans-serif", gap: 6, ...values })

/** powers are the powers of ten between two numbers. */
const powers = (u, axis, min, max) => {
	const all = []
	for (let n = Math.ceil(Math.log10(min)); n <= Math.log10(max); n++) all.push(10 ** n)
	return all
}

/** lately are the last five minutes, which a chart of nothing shows. */
const lately = () => [Date.now() / 1000 - 300, Date.now() / 1000]

/** steps are the seconds between two labels: they show no shorter ones. */
const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800, 86400, 7 * 86400, 30 * 86400]

/** times are the labels below, without one that would be cut off at the end. */
const times = (u, splits) => splits.map(s => s == null || u.valToPos(s, "x") > u.over.clientWidth - 22 ? "" : clock(s * 1000).slice(0, 8))

const options = (kind, width, gaps) => {
	const rates = kind === "rates"
	const line = (label, name) => ({ label, stroke: color(name), width: 1.6, spanGaps: false, points: { show: false } })
	const dots = (label, name) => ({ label, stroke: color(name), paths: () => null,
		points: { show: true, size: 5, fill: color(name), stroke: color(name) } })
	return {
		width, height: 170, padding: [10, 8, 0, 0], legend: { show: false },
		cursor: { drag: { x: false, y: false }, y: false },
		scales: { x: rates ? { time: true, range: (u, min, max) => [max - 300, max] } :
			{ time: true, range: (u, min, max) => min == null ? lately() : max - min < 4 ? [max - 4, max + 1] : [min, max] }, y: rates ? { range: (u, min, max) => [0, Math.max(1, max ?? 1) * 1.08] } :
			{ distr: 3, range: (u, min, max) => [Math.min(min ?? 1e-4, 1e-4), Math.max(max ?? 1e-2, 1e-2) * 2] } },
		axes: [axis({ values: times, incrs: steps, space: 80, size: 30 }), axis({ size: 62, ...rates ? {} : { splits: powers }, values: (u, splits) => splits.map(v => v == null ? "" :
			rates ? v + "/s" : seconds(v)) })],
		series: [{}, ...rates ? [line("events", "--accent"), line("epochs", "--second")] :
			[dots("ok", "--accent"), dots("failed", "--bad")]],
		hooks: { drawClear: [shaded(gaps)] },
	}
}

/** Chart draws data of a kind, "rates" or "epochs"; pick is called with the index that one clicks at. */
export const Chart = ({ kind, name, data, gaps, version, pick }) => {
	const at = useRef(), plot = useRef(), seen = useSeen(at).value
	useEffect(() => {
		const make = () => {
			plot.current?.destroy()
			plot.current = new uPlot(options(kind, at.current.clientWidth || 300, () => gaps()), data(), at.current)
		}
		make()
		const resized = new ResizeObserver(([e]) => plot.current.setSize({ width: e.contentRect.width || 300, height: 170 }))
		resized.observe(at.current)
		const dark = matchMedia("(prefers-color-scheme: dark)"), themed = new MutationObserver(make)
		dark.addEventListener("change", make)
		themed.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
		return () => {
			resized.disconnect()
			themed.disconnect()
			dark.removeEventListener("change", make)
			plot.current.destroy()
		}
	}, [kind])
	useEffect(() => { if (seen) plot.current?.setData(data()) }, [version, seen])
	const click = () => { if (pick && plot.current?.cursor.idx != null) pick(plot.current.cursor.idx) }
	return html`<div class=${"chart" + (pick ? " picks" : "")} role="img" aria-label=${name} ref=${at} onClick=${click}></div>`
}
