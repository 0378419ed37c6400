// How two texts differ, line by line.
import { html, useMemo } from "./vendor.js"

const mostCells = 4e6 // of the table that a comparison takes

/** compared are the lines of two texts, each with what has become of it: " ", "-" or "+"; null where that takes too much. */
const compared = (before, after) => {
	const a = before.split("\n"), b = after.split("\n"), all = []
	let head = 0, end = 0
	while (head < a.length && head < b.length && a[head] === b[head]) head++
	while (end < a.length - head && end < b.length - head && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
	const n = a.length - head - end, m = b.length - head - end, width = m + 1
	if ((n + 1) * width > mostCells) return null
	const longest = new Uint32Array((n + 1) * width) // common lines of what is behind
	for (let i = n - 1; i >= 0; i--) for (let j = m - 1; j >= 0; j--) longest[i * width + j] = a[head + i] === b[head + j] ?
		longest[(i + 1) * width + j + 1] + 1 : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1])
	for (const line of a.slice(0, head)) all.push([" ", line])
	for (let i = 0, j = 0; i < n || j < m;) {
		if (i < n && j < m && a[head + i] === b[head + j]) {
			all.push([" ", a[head + i++]])
			j++
		}
		else if (j >= m || i < n && longest[(i + 1) * width + j] >= longest[i * width + j + 1]) all.push(["-", a[head + i++]])
		else all.push(["+", b[head + j++]])
	}
	for (const line of a.slice(a.length - end)) all.push([" ", line])
	return all
}

/** Compared shows it. */
export const Compared = ({ before, after }) => {
	const lines = useMemo(() => compared(before, after), [before, after])
	if (!lines) return html`<p class="dim">Too much is different to be compared here: <code>graphd diff</code> says how they differ in meaning.</p>
		<pre class="value text" tabindex="0" role="group" aria-label="The earlier declaration">${before}</pre>`
	return html`<pre class="value text lines" tabindex="0" role="group" aria-label="How they differ">${lines.map(([sign, line]) =>
		sign === "-" ? html`<del>- ${line}${"\n"}</del>` : sign === "+" ? html`<ins>+ ${line}${"\n"}</ins>` : `  ${line}\n`)}</pre>`
}
