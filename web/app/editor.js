// Declarations are written here. What the daemon says of a text stands in it as one types, what it would change before it
// is applied, and tests run beside.
import { html, useEffect, useRef, useState } from "./vendor.js"
import { ask, graphPath } from "./api.js"
import { go, set, to, toGraph } from "./route.js"
import { who, whyNot } from "./who.js"
import { Top } from "./parts.js"
import { Compared } from "./compared.js"
import { exact, list, some } from "./format.js"

const pause = 400 // milliseconds in which nothing is typed, before the daemon is asked
const typed = 80 // the same, for what can stand at the cursor

/** nameOf is the graph that a text declares, "" while it declares none. */
const nameOf = text => /^(?:graph|[\s{]*["']graph["'])\s*:\s*["']?([a-z][a-z0-9_]{0,63})/m.exec(text)?.[1] ?? ""

const send = (graph, text, dry, match, signal) => ask("PUT", graphPath(graph, dry ? "?dry_run=1" : ""), { body: text, signal,
	headers: { "Content-Type": "application/yaml", ...match } })

/** drafts are what is being written, by who writes it and graph, so that it is still there when one comes back to it. */
const drafts = new Map()

const draftOf = graph => JSON.stringify([who.value?.tenant, who.value?.subject, graph ?? ""])

/** useChecked is what the daemon says of a text: its mistakes, or what applying it would change. */
const useChecked = (graph, text, off) => {
	const [is, put] = useState({ found: [] })
	useEffect(() => {
		if (off) return
		const ends = new AbortController()
		const timer = setTimeout(() => send(graph, text, true, {}, ends.signal).then(
			would => put({ of: text, would, found: [] }),
			no => no.name !== "AbortError" && put({ of: text, found: no.problem?.errors ?? [], no })), pause)
		return () => {
			clearTimeout(timer)
			ends.abort()
		}
	}, [graph, text, off])
	if (is.of === text) return is
	const was = (is.of ?? "").split("\n"), now = text.split("\n") // what was said of lines that are as they were still holds
	return { ...is, late: true, found: is.found.filter(d => was[d.line - 1] === now[d.line - 1]) }
}

const listedAtOnce = 8 // of what can stand at a place

/** wordAt is the end of what a mistake at a place means: a word, or one sign. */
const wordAt = (line, from) => from + (/^[\w.-]+/.exec(line.slice(from))?.[0].length ?? 1)

/** Code is a text that is written, with what is said of its lines. */
const Code = ({ label, id, value, change, found = [], completes }) => {
	const field = useRef(), asked = useRef(), [shown, show] = useState(null)
	const lines = value.split("\n"), of = new Map()
	for (const d of found) of.set(d.line, [...(of.get(d.line) ?? []), d])
	const hide = () => {
		asked.current?.abort()
		show(null)
	}
	useEffect(() => () => asked.current?.abort(), [])
	const look = (forced = false) => {
		const f = field.current, at = f.selectionStart, before = f.value.slice(0, at).split("\n"), line = before.at(-1)
		asked.current?.abort() // an answer to what was typed before is of no use
		if (!completes || !forced && !/[\w.]$/.test(line)) return show(null)
		const ends = asked.current = new AbortController()
		setTimeout(() => ends.signal.aborted || completes({ declaration: f.value, line: before.length, column: [...line].length + 1 },
			ends.signal).then(got => {
			const items = got.items.filter(i => got.before + got.after === 0 || i.label !== f.value.slice(at - got.before, at))
			show(!ends.signal.aborted && items.length ? { items, at, from: at - got.before, end: at + got.after, row: before.length,
				column: line.length - got.before, chosen: forced ? 0 : -1 } : null)
		}, no => no.name !== "AbortError" && show(null)), forced ? 0 : typed) // without an answer nothing is offered
	}
	const put = item => {
		const f = field.current
		f.focus()
		f.setSelectionRange(shown.from, shown.end)
		if (!document.execCommand("insertText", false, item.text)) f.setRangeText(item.text, shown.from, shown.end, "end")
		hide()
		change(f.value)
	}
	const key = event => {
		if (event.ctrlKey && event.key === " ") {
			event.preventDefault()
			look(true)
		} else if (shown && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
			event.preventDefault()
			const n = shown.items.length, step = event.key === "ArrowDown" ? 1 : -1
			show({ ...shown, chosen: (Math.max(shown.chosen + step, shown.chosen < 0 ? step - (step < 0 ? 0 : 1) : -1) + n) % n })
		} else if (shown?.chosen >= 0 && event.key === "Enter") {
			event.preventDefault()
			put(shown.items[shown.chosen])
		} else if (shown && event.key === "Escape") {
			event.stopPropagation()
			hide()
		}
	}
	const listed = id + "-options"
	return html`<div class="code"><div class="lines-of" aria-hidden="true">${lines.map((_, i) => html`<div
			class=${of.has(i + 1) ? "bad" : ""}>${i + 1}</div>`)}</div>
		<div class="text-of"><pre aria-hidden="true">${lines.map((line, i) => {
			const said = of.get(i + 1)
			if (!said) return line + "\n"
			const from = Math.min(Math.max(0, (said[0].column || 1) - 1), line.length), end = Math.max(from, wordAt(line, from))
			return html`${line.slice(0, from)}<mark>${line.slice(from, end) || " "}</mark>${line.slice(end)}<span class="remark">${"  ◂ " +
				said[0].text.slice(0, 160)}</span>${"\n"}`
		})}</pre>
		<textarea id=${id} ref=${field} aria-label=${label} spellcheck=${false} autocapitalize="off" autocomplete="off" wrap="off"
			aria-autocomplete=${completes ? "list" : undefined} aria-controls=${shown ? listed : undefined}
			aria-activedescendant=${shown?.chosen >= 0 ? `${listed}-${shown.chosen}` : undefined} aria-invalid=${found.length > 0 ? "true" : "false"}
			aria-describedby=${id + "-said"} value=${value} onInput=${e => { change(e.target.value); look() }} onKeyDown=${key}
			onBlur=${() => setTimeout(hide, 150)} onClick=${hide}></textarea>
		${shown && html`<ul class=${shown.row > 12 ? "options above" : "options"} role="listbox" id=${listed} aria-label="What can stand here"
			style=${{ left: shown.column + "ch", top: `calc(${shown.row > 12 ? shown.row - 1 : shown.row} * var(--row))` }}>${shown.items.map((item, i) => i > shown.chosen - listedAtOnce && i < Math.max(listedAtOnce, shown.chosen + 1) && html`<li role="option"
			id=${`${listed}-${i}`} aria-selected=${i === shown.chosen ? "true" : "false"} onMouseDown=${e => { e.preventDefault(); put(item) }}>
			<strong>${item.label}</strong>${(item.detail || item.about) && html` <span>${[item.detail, item.about].filter(Boolean).join(": ").slice(0, 100)}</span>`}</li>`)}${shown.items.length > listedAtOnce &&
			html`<li role="presentation"><span>${shown.items.length} in all</span></li>`}</ul>`}
		</div></div>`
}

/** Said are mistakes, each with a way to its place. */
const Said = ({ id, found, in: field }) => {
	const lead = d => {
		const f = document.getElementById(field), at = f.value.split("\n").slice(0, d.line - 1).reduce((n, l) => n + l.length + 1, 0) +
			Math.max(0, (d.column || 1) - 1)
		f.focus()
		f.setSelectionRange(at, at)
	}
	return html`<ul class="reasons" id=${id}>${found.map(d => html`<li key=${d.line + d.text}><button class="link" onClick=${() => lead(d)}>Line ${
		d.line}${d.column ? `, column ${d.column}` : ""}</button> ${d.text}${d.suggest && html` Did you mean <code>${d.suggest}</code>?`}${" "}
		${d.code && d.code !== "tests_invalid" && html`<a href=${"/docs/diagnostics#" + d.code}><code>${d.code}</code></a>`}</li>`)}</ul>`
}

/** Tests are run beside a declaration, and kept with its draft. */
const Tests = ({ graph, text, tests, change }) => {
	const [said, put] = useState({})
	const run = async () => {
		const of = { text, tests }
		put({ of, busy: true })
		try {
			put({ of, got: await ask("POST", graphPath(graph, "/test"), { body: JSON.stringify({ declaration: text, tests }) }) })
		} catch (no) {
			put({ of, no })
		}
	}
	const is = said.busy || said.of?.text === text && said.of?.tests === tests ? said : {} // of other texts it says nothing
	const errors = is.no?.code === "tests_invalid" ? is.no.problem.errors : []
	const found = [...errors, ...(is.got?.cases ?? []).flatMap(c => c.failures)]
	return html`<h3>Tests</h3>
		<${Code} id="tests" label="Tests of the declaration" value=${tests} change=${change} found=${found} />
		<p class="actions"><button disabled=${is.busy || whyNot("author") !== ""} onClick=${run}>Run the tests</button></p>
		<div role="status" class="ran">${is.busy && html`<p>They run …</p>`}
			${is.got && html`<p class=${is.got.failed ? "bad" : "good"}>${some(is.got.passed, "case has passed", "cases have passed")}${
			is.got.failed ? `, ${is.got.failed} failed` : ""}.</p>`}</div>
		${is.no && html`<p class="bad" role="alert">${is.no.message}</p>`}
		<${Said} id="tests-said" found=${found} in="tests" />`
}

/** Would is what applying a text would do. */
const Would = ({ would, before, text }) => {
	const kept = would.state?.kept ?? [], dropped = would.state?.dropped ?? []
	return html`<p>${would.created ? "It makes a new graph." : would.changed ? "It changes what runs:" : would.restated ?
		"Its text is another, and it means the same." : "It changes nothing."}</p>
		<ul class="reasons">${(would.diff ?? []).map(line => html`<li>${line}</li>`)}</ul>
		${kept.length > 0 && html`<p>State that is kept: ${list(kept)}.</p>`}
		${dropped.length > 0 && html`<p class="warn"><strong>State that is dropped: ${list(dropped)}.</strong></p>`}
		${before && before !== text && html`<details><summary>The lines that are different</summary><${Compared} before=${before} after=${text} /></details>`}
		${would.plan && html`<details><summary>The plan</summary><pre class="value text" tabindex="0" role="group" aria-label="The plan">${
			JSON.stringify(would.plan, null, 2)}</pre></details>`}`
}

/** Editor has a declaration written: that of a graph at a revision, or of one that is to be made. */
export const Editor = ({ graph, revision, text: first, tests: firstTests }) => {
	const id = useRef(draftOf(graph)).current, kept = drafts.get(id)
	const [text, write] = useState(kept?.text ?? first), [tests, writeTests] = useState(kept?.tests ?? firstTests ?? `graph: ${graph}\ncases:\n  - name: \n    steps:\n`)
	const [is, put] = useState({}), [, read] = useState(0)
	const from = useRef(kept?.from ?? { revision, text: first }), refused = whyNot("author")
	const name = graph ?? (nameOf(text) || "new_graph"), checked = useChecked(name, text, refused !== "")
	const changed = text !== from.current.text, began = useRef(firstTests ?? tests).current
	const completes = (body, signal) => ask("POST", graphPath(name, "/complete"), { body: JSON.stringify(body), signal })
	const behind = graph && !is.busy && revision > from.current.revision
	useEffect(() => {
		if (changed || tests !== began) drafts.set(id, { text, tests, from: from.current })
		else drafts.delete(id)
	})
	useEffect(() => { // somebody else has changed what nothing was written on here
		if (!behind || changed) return
		from.current = { revision, text: first }
		write(first)
	}, [behind, changed])
	const end = () => {
		drafts.delete(id)
		if (graph) set({ edit: "" })
		else go(to("/"))
	}
	const apply = async () => {
		put({ busy: true })
		try {
			const did = await send(name, text, false, graph ? { "If-Match": `"${from.current.revision}"` } : { "If-None-Match": "*" })
			if (!graph) {
				drafts.delete(id)
				go(toGraph(name))
				return
			}
			from.current = { revision: did.revision, text }
			put({ did })
		} catch (no) {
			put({ no })
		}
	}
	const exists = !graph && checked.would && !checked.would.created && !checked.late
	const off = is.busy || refused !== "" || checked.late || !checked.would || !changed && graph || exists || behind
	return html`<div class="editor"><${Code} id="declaration" label="Declaration" completes=${refused ? null : completes} value=${text} found=${checked.found}
			change=${t => { put({}); write(t) }} />
		<div role="status" class="checked">${refused ? "" : checked.late ? html`<p class="dim">The daemon looks at it …</p>` : checked.found.length > 0 ?
			html`<p class="bad">${some(checked.found.length, "mistake", "mistakes")}.</p>` : checked.no ? "" : html`<p class="good">No mistake.</p>`}</div>
		${checked.no && checked.found.length === 0 && html`<p class="bad" role="alert">${checked.no.message}</p>`}
		${exists && html`<p class="bad" role="alert">There is a graph ${name}: give this one another name, or change that one on its page.</p>`}
		<${Said} id="declaration-said" found=${checked.found} in="declaration" />
		${checked.would && !checked.late && html`<h3>What applying it does</h3><${Would} would=${checked.would} before=${graph && from.current.text} text=${text} />`}
		${behind && html`<div class="notice warn" role="status"><p>This was written when revision ${exact(from.current.revision)} ran, and now revision ${
			exact(revision)} does: it can be applied once it is held against that. <button onClick=${() => {
				from.current = { revision, text: first }
				read(n => n + 1)
			}}>Hold it against revision ${exact(revision)}</button></p></div>`}
		${refused && html`<p class="refused">${refused}.</p>`}
		<p class="actions"><button class="main" disabled=${off} onClick=${apply}>Apply</button>${" "}
			<button onClick=${end}>${is.did ? "Close" : "Discard"}</button></p>
		<div role="status">${is.busy && html`<p>It is being applied …</p>`}
			${is.did && html`<div class="did"><p>Revision ${exact(is.did.revision)} runs. ${(is.did.troubles ?? []).join("; ")}</p></div>`}</div>
		${is.no && html`<p class="bad" role="alert">${is.no.message}</p>`}
		<${Tests} graph=${name} text=${text} tests=${tests} change=${writeTests} />
		<p class="dim">Ctrl and the space bar list what can stand at the cursor. <a href="/docs/declaration">What a declaration says</a>,
			and <a href="/docs/getting-started">its tests</a>.</p></div>`
}

const sample = `graph: my_graph
description: What it is for.
accumulators:
  readings: {}
nodes:
  double: { expr: readings.value * 2 }
outputs:
  doubled: { from: double, sink: { drop: {} } }
`
const sampleTests = `graph: my_graph
cases:
  - name: doubles what comes
    steps:
      - push: { readings: { value: 2 } }
      - expect: { doubled: [4] }
`

/** NewGraph is where a graph is written that is not there yet. */
export const NewGraph = () => {
	useEffect(() => { document.title = "New graph · graphd" }, [])
	return html`<${Top}><span>New graph</span><//>
		<main><h1 tabindex="-1">New graph</h1><h2>Declaration</h2><${Editor} text=${sample} tests=${sampleTests} /></main>`
}
