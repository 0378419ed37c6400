// What a graph is declared as: its revisions, how they differ, and the way back to an earlier one.
import { html, useEffect, useMemo, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set } from "./route.js"
import { Clock, Waiting } from "./parts.js"
import { may } from "./who.js"
import { exact, list, stamped } from "./format.js"

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

const revisionPath = (graph, revision) => graphPath(graph, "/revisions/" + revision)

/** useAsked is what is asked for while it is wanted, anew when what it is of changes. */
const useAsked = (wanted, get, of) => {
	const [got, put] = useState({})
	useEffect(() => {
		if (!wanted) return
		const ends = new AbortController()
		get(ends.signal).then(value => put({ of, value }), no => no.name !== "AbortError" && put({ of, trouble: no.message }))
		return () => ends.abort()
	}, [wanted, of])
	return got.of === of ? got : {}
}

const by = r => [r.by?.token, r.by?.agent, r.by?.host].filter(Boolean).join(", ") || r.origin

/** Declared shows the declaration. */
export const Declared = ({ s }) => {
	const open = query("declared") === "1", chosen = query("revision") || String(s.revision)
	const all = useAsked(open, signal => ask("GET", graphPath(s.graph, "/revisions"), { signal }), `${s.graph} ${s.revision}`)
	const now = useAsked(open, signal => ask("GET", revisionPath(s.graph, s.revision), { signal }), `${s.graph} ${s.revision}`)
	const then = useAsked(open && chosen !== String(s.revision), signal => ask("GET", revisionPath(s.graph, chosen), { signal }),
		`${s.graph} ${chosen}`)
	const [back, goBack] = useState(null)
	if (!open) return html`<section aria-labelledby="declared"><div class="bar"><h2 id="declared">Declaration</h2>
		<button onClick=${() => set({ declared: "1" })}>Show revision ${exact(s.revision)}</button></div></section>`
	const trouble = all.trouble ?? now.trouble ?? then.trouble, other = chosen !== String(s.revision)
	return html`<section aria-labelledby="declared">
		<div class="bar"><h2 id="declared">Declaration</h2>
			<button class="quiet" aria-label="Close" onClick=${() => set({ declared: "", revision: "" })}>✕</button></div>
		${trouble && html`<div class="notice bad" role="alert"><p>${trouble}</p></div>`}
		${!all.value ? !all.trouble && html`<${Waiting} />` : html`
		<div class="scroll" tabindex="0" role="group" aria-labelledby="declared"><table class="revisions">
			<thead><tr><th scope="col" class="number">Revision</th><th scope="col">Applied</th><th scope="col">By</th><th scope="col">What it changed</th></tr></thead>
			<tbody>${all.value.items.map(r => html`<tr key=${r.revision} class=${String(r.revision) === chosen ? "chosen" : ""}>
				<td class="number"><button class="link" aria-label=${"Revision " + r.revision} aria-current=${String(r.revision) === chosen ? "true" : undefined}
					onClick=${() => set({ revision: r.current ? "" : String(r.revision) })}>${exact(r.revision)}</button></td>
				<td><${Clock} at=${r.at} /> <span class="dim">${stamped(r.at).split(",").slice(0, 2).join(",")}</span></td>
				<td>${by(r)}</td><td class="wrap">${r.current && html`<span class="badge good">runs</span> `}${r.change}</td></tr>`)}</tbody>
		</table></div>`}
		${other ? html`<div class="bar"><h3>From revision ${chosen} to ${exact(s.revision)}, which runs</h3>
			${may("author") && html`<button onClick=${() => goBack(chosen)}>Go back to revision ${chosen} …</button>`}</div>
			${back === chosen && html`<${Back} key=${chosen} s=${s} revision=${Number(chosen)} end=${() => goBack(null)} />`}
			${then.value && now.value && html`<${Compared} before=${then.value.declaration} after=${now.value.declaration} />`}` :
		now.value && html`<h3>Revision ${exact(s.revision)}, which runs</h3>
			<pre class="value text" tabindex="0" role="group" aria-label="The declaration">${now.value.declaration}</pre>`}
	</section>`
}

const Compared = ({ before, after }) => {
	const lines = useMemo(() => compared(before, after), [before, after])
	if (!lines) return html`<p class="dim">Too much is different to be compared here: <code>graphd diff</code> says how they differ in meaning.</p>
		<pre class="value text" tabindex="0" role="group" aria-label="The earlier declaration">${before}</pre>`
	return html`<pre class="value text lines" tabindex="0" role="group" aria-label="How they differ">${lines.map(([sign, line]) =>
		sign === "-" ? html`<del>- ${line}${"\n"}</del>` : sign === "+" ? html`<ins>+ ${line}${"\n"}</ins>` : `  ${line}\n`)}</pre>`
}

/** Back goes back to an earlier revision, once it has said what that changes, keeps and drops. */
const Back = ({ s, revision, end }) => {
	const [is, put] = useState({ name: "looking" }), head = useRef(), from = useRef(s.revision)
	const send = dry => ask("POST", graphPath(s.graph, "/rollback"), { body: JSON.stringify({ revision, dry_run: dry }),
		headers: { "If-Match": `"${from.current}"` } })
	useEffect(() => {
		head.current?.focus({ preventScroll: true })
		send(true).then(would => put({ name: "ready", would }), no => put({ name: "done", trouble: no.message }))
	}, [])
	const go = async () => {
		put({ ...is, name: "doing" })
		try {
			const did = await send(false)
			put({ name: "done", did })
		} catch (no) {
			put({ name: "done", trouble: no.message })
		}
	}
	const kept = is.would?.state?.kept ?? [], dropped = is.would?.state?.dropped ?? []
	return html`<div class="act" role="region" aria-label="Go back"><h3 tabindex="-1" ref=${head}>Go back to revision ${exact(revision)}</h3>
		<div role="status">
		${is.name === "looking" && html`<p>Looking at what that changes …</p>`}
		${is.name === "doing" && html`<p>It is being applied …</p>`}
		${is.would && html`<p>It is applied as an update, and gets a revision of its own. ${is.would.changed ? "" : "It changes nothing of what runs."}</p>
			<ul class="reasons">${(is.would.diff ?? []).map(line => html`<li>${line}</li>`)}</ul>
			${kept.length > 0 && html`<p>State that is kept: ${list(kept)}.</p>`}
			${dropped.length > 0 && html`<p class="warn"><strong>State that is dropped: ${list(dropped)}.</strong></p>`}`}
		${is.did && html`<p class="did">Revision ${exact(is.did.revision)} runs, with the text of revision ${exact(is.did.restored ?? revision)}.</p>`}
		</div>
		${is.trouble && html`<p class="bad" role="alert">${is.trouble}</p>`}
		<p class="actions">${is.name === "ready" && html`<button class="main" onClick=${go}>Go back</button>`}${" "}
			${is.name !== "doing" && html`<button onClick=${end}>${is.name === "done" ? "Close" : "Cancel"}</button>`}</p></div>`
}
