// What a graph is declared as: its revisions, how they differ, and the way back to an earlier one.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { query, set } from "./route.js"
import { Clock, Waiting } from "./parts.js"
import { may, whyNot } from "./who.js"
import { Compared } from "./compared.js"
import { Editor } from "./editor.js"
import { exact, list, stamped } from "./format.js"

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

const by = r => [r.by?.token, r.by?.agent?.startsWith("Mozilla/") ? "a browser" : r.by?.agent, r.by?.host].filter(Boolean).join(", ") || r.origin

/** Declared shows the declaration. */
export const Declared = ({ s }) => {
	const open = query("declared") === "1", chosen = query("revision") || String(s.revision)
	const all = useAsked(open, signal => ask("GET", graphPath(s.graph, "/revisions"), { signal }), `${s.graph} ${s.revision}`)
	const now = useAsked(open, signal => ask("GET", revisionPath(s.graph, s.revision), { signal }), `${s.graph} ${s.revision}`)
	const then = useAsked(open && chosen !== String(s.revision), signal => ask("GET", revisionPath(s.graph, chosen), { signal }),
		`${s.graph} ${chosen}`)
	const [back, goBack] = useState(null), ran = useRef() // what ran last, while the newest is asked for
	if (now.value) ran.current = { graph: s.graph, revision: s.revision, text: now.value.declaration }
	const base = ran.current?.graph === s.graph ? ran.current : null
	if (!open) return html`<section aria-labelledby="declared"><div class="bar"><h2 id="declared">Declaration</h2>
		<button onClick=${() => set({ declared: "1" })}>Show revision ${exact(s.revision)}</button></div></section>`
	const trouble = all.trouble ?? now.trouble ?? then.trouble, other = chosen !== String(s.revision)
	return html`<section aria-labelledby="declared">
		<div class="bar"><h2 id="declared">Declaration</h2>
			<button class="quiet" aria-label="Close" onClick=${() => set({ declared: "", revision: "", edit: "" })}>✕</button></div>
		${trouble && html`<div class="notice bad" role="alert"><p>${trouble}</p></div>`}
		${!all.value ? !all.trouble && html`<${Waiting} />` : html`
		<div class="scroll" tabindex="0" role="group" aria-labelledby="declared"><table class="revisions">
			<thead><tr><th scope="col" class="number">Revision</th><th scope="col">Applied</th><th scope="col">By</th><th scope="col">What it changed</th></tr></thead>
			<tbody>${all.value.items.map(r => html`<tr key=${r.revision} class=${String(r.revision) === chosen ? "chosen" : ""}>
				<td class="number"><button class="link" aria-label=${"Revision " + r.revision} aria-current=${String(r.revision) === chosen ? "true" : undefined}
					onClick=${() => set({ revision: r.current ? "" : String(r.revision) })}>${exact(r.revision)}</button></td>
				<td><${Clock} at=${r.at} /> <span class="dim">${stamped(r.at).split(",").slice(0, 2).join(",")}</span></td>
				<td title=${r.by?.agent}>${by(r)}</td><td class="wrap">${r.current && html`<span class="badge good">runs</span> `}${r.change}</td></tr>`)}</tbody>
		</table></div>`}
		${other ? html`<div class="bar"><h3>From revision ${chosen} to ${exact(s.revision)}, which runs</h3>
			${may("author") && html`<button onClick=${() => goBack(chosen)}>Go back to revision ${chosen} …</button>`}</div>
			${back === chosen && html`<${Back} key=${chosen} s=${s} revision=${Number(chosen)} end=${() => goBack(null)} />`}
			${then.value && now.value && html`<${Compared} before=${then.value.declaration} after=${now.value.declaration} />`}` :
		query("edit") === "1" ? base && html`<${Editor} key=${s.graph} graph=${s.graph} revision=${base.revision}
			text=${base.text} />` : now.value && html`<div class="bar"><h3>Revision ${exact(s.revision)}, which runs</h3>
			${may("author") ? html`<button onClick=${() => set({ edit: "1" })}>Edit …</button>` :
			html`<p class="refused">You may not change it. ${whyNot("author")}.</p>`}</div>
			<pre class="value text" tabindex="0" role="group" aria-label="The declaration">${now.value.declaration}</pre>`}
	</section>`
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
