// The page of one graph.
import { html, useEffect, useMemo } from "./vendor.js"
import { follow } from "./model.js"
import { query, set, Link, to } from "./route.js"
import { Advice, Doc, Top, Away, Health, Figure, When, Waiting, Value, healths, statuses } from "./parts.js"
import { Picture, well } from "./picture.js"
import { Chart } from "./chart.js"
import { Firings, Firing, useFiring } from "./firings.js"
import { WhyNot } from "./why.js"
import { Guide } from "./guide.js"
import { Keys } from "./keys.js"
import { Letters } from "./letters.js"
import { Declared } from "./declared.js"
import { Tail } from "./tail.js"
import { Shards } from "./shards.js"
import { Followers, Happened, Kept, Latency, Watermarks, toldOf } from "./standing.js"
import { Action, Buttons } from "./actions.js"
import { Lost } from "./maintain.js"
import { atDaemon, bytes, cores, count, exact, inputOf, list, nothing, own, rate, seconds, sentence, some } from "./format.js"

export const GraphPage = ({ name }) => {
	const m = useMemo(() => follow(name), [name])
	useEffect(() => {
		document.title = name + " · graphd"
		return m.close
	}, [m])
	const s = m.summary.value, at = m.stream.state.value.name
	return html`<${Top} stream=${m.stream}><${Link} href=${to("/")}>Graphs<//><span aria-hidden="true">/</span>
		<span>${name}</span><//>
	<main class=${(at === "away" ? "stale " : "") + (query("epoch") ? "beside" : "")}>
		<div class="title"><h1 tabindex="-1">${name}</h1>
			${s && at !== "gone" && html`<${Health} health=${s.health} paused=${s.paused} reason=${s.health_reason} />
				<${Buttons} s=${s} />`}</div>
		${at === "gone" ? html`<div class="empty"><p><strong>There is no graph of this
			name</strong>, or none that you may see. The page looks again every 15 seconds.</p>
			<p><${Link} href=${to("/")}>All graphs<//></p></div>` :
		!s ? html`<${Away} stream=${m.stream} /><${Waiting} />` :
		html`<${Body} m=${m} s=${s} />`}
	</main>`
}

const Body = ({ m, s }) => {
	const firing = useFiring(s.graph)
	const plan = m.plan.value
	return html`
		${s.description && html`<p class="lead">${s.description}</p>`}
		<${Away} stream=${m.stream} />
		${s.health_reason && html`<div class=${"notice " + (s.health === "warming" ? "" : "warn")}
			role="status"><p><strong>${s.health === "live" ? "live, but" : s.health}</strong>: ${s.health_reason.detail}
			<${Advice} reason=${s.health_reason} /></p></div>`}
		${m.trouble.value && html`<div class="notice bad" role="alert"><p>${m.trouble.value}</p></div>`}
		<${Action} s=${s} m=${m} />
		<${Figures} s=${s} />
		<${Pictured} m=${m} s=${s} plan=${plan} firing=${firing} />
		<div class="columns">
			<div class="now">
				<${Readiness} s=${s} m=${m} />
				<${Books} s=${s} />
				<${Outputs} s=${s} />
			</div>
			<div class="rests">
				<${Promises} s=${s} />
				<${Kept} s=${s} />
				<${Watermarks} s=${s} />
			</div>
			<div class="times">
				<${Timeline} m=${m} />
			</div>
		</div>
		${s.shards && html`<${Shards} s=${s} />`}
		${s.keys && html`<${Keys} s=${s} m=${m} />`}
		<${WhyNot} s=${s} />
		<${Letters} s=${s} ofNodes=${plan?.nodes.some(n => n.on_error === "dead_letter")} />
		<${Declared} s=${s} />
		<${Happened} s=${s} />
		<${Tail} s=${s} />
		<${Firings} m=${m} s=${s} />
		<${Guide} s=${s} m=${m} />
		${firing.id && html`<${Firing} m=${m} firing=${firing} graph=${s.graph} />`}`
}

/** Pictured is what moves of the page: it is drawn a few times a second, and what stands around it once. */
const Pictured = ({ m, s, plan, firing }) => {
	m.version.value
	const chosen = query("at"), choose = id => set({ at: id === chosen ? "" : id }, true)
	return html`<section aria-labelledby="picture">
		<div class="bar"><h2 id="picture">Picture</h2>
			${firing.value && html`<p class="asof">As it was in epoch ${firing.epoch}
				<button class="link" onClick=${() => set({ epoch: "", shard: "" })}>back to now</button></p>`}
			${!firing.value && m.live.state?.key !== undefined && html`<p class="dim">values of the key that fired last:${" "}
				<code>${JSON.stringify(m.live.state.key)}</code></p>`}
			<button aria-pressed=${query("zoom") === "whole" ? "true" : "false"}
				onClick=${() => set({ zoom: query("zoom") ? "" : "whole" }, true)}>Whole picture</button>
		</div>
		${plan ? html`<${Picture} whole=${query("zoom") === "whole"} plan=${plan} summary=${s} live=${m.live} firing=${firing.value} chosen=${chosen}
			choose=${choose} />` : html`<${Waiting} />`}
		${plan && chosen && html`<${Piece} id=${chosen} plan=${plan} s=${s} m=${m} firing=${firing.value} />`}
	</section>`
}

const Figures = ({ s }) => {
	const lag = s.accumulators.reduce((n, a) => a.lag == null ? n : (n ?? 0) + a.lag, null)
	const letters = s.counters.dead_lettered + s.outputs.reduce((n, o) => n + o.failed, 0)
	return html`<dl class="figures">
		<${Figure} name="Events" value=${rate(s.events_per_second)} />
		<${Figure} name="Epochs" value=${rate(s.epochs_per_second)} of=${" " + exact(s.epoch) + " in all"} />
		<${Figure} name="Last fire" value=${html`<${When} at=${s.last_fired_at} />`} />
		<${Figure} name="Lag" value=${lag == null ? nothing : count(lag)} title="events that wait at the sources" />
		<${Figure} name="Dead letters" value=${count(letters)} look=${letters ? "warn" : ""} />
		<${Figure} name="CPU, of a core" value=${cores(s.cores)} title=${seconds(s.cost.busy_seconds) + " in all"} />
		<${Figure} name="Memory" value=${bytes(s.cost.memory_bytes)} />
		${s.keys && html`<${Figure} name="Keys" value=${count(s.keys.count)} of=${" of " + count(s.keys.max)} />`}
		${s.shards && html`<${Figure} name="Shards" value=${s.keys.shards_running} of=${" of " + s.shards.length} />`}
		<${Figure} name="Checkpoint" value=${s.durability.checkpoint_age_seconds == null ? nothing :
			seconds(Math.round(s.durability.checkpoint_age_seconds)) + " ago"} title=${"durability: " + s.durability.mode} />
	</dl>`
}

/** words says what the next epoch waits for. */
const words = (s, live) => {
	if (s.paused) return ["Paused" + (s.paused_by ? " by " + s.paused_by : "") + ".", "Events are taken, and nothing fires " +
		"until it is resumed."]
	if (s.health !== "live" && s.health !== "degraded" && s.health !== "warming")
		return ["It does not fire: " + s.health + ".", sentence(s.health_reason?.detail ?? healths[s.health]?.[1])]
	const triggers = s.accumulators.filter(a => a.triggers)
	const fresh = triggers.filter(a => own(live.state?.dirty, a.name) ?? a.dirty)
	const of = triggers.length > 1 ? `${fresh.length} of ${some(triggers.length, "input")} that trigger ` +
		`${fresh.length === 1 ? "has" : "have"} something new.` : ""
	if (s.waiting_for?.length) return [`Waiting for ${list(s.waiting_for)}.`, of]
	if (s.held_back_by) return [`Held back by ${s.held_back_by}.`, "Its time is behind; the others wait for it."]
	const time = s.clock === "event" ? Date.parse(s.engine_time ?? 0) : atDaemon()
	if (s.due_at && Date.parse(s.due_at) > time + 1000) return ["Waiting for its time.", `What waits may fire at ${new Date(s.due_at).toLocaleTimeString()}.`]
	if (triggers.length === 0) return ["Nothing triggers it.", "It fires on command alone."]
	if (s.health === "warming") return ["It is warming up.", sentence(s.health_reason?.detail ?? healths.warming[1])]
	if (s.keys) return ["Each key waits for itself.", s.keys.waiting ? `${some(s.keys.waiting, "value")} of ` +
		`keys ${s.keys.waiting === 1 ? "waits" : "wait"} for a counterpart, a guard or their time.` : "No value of any key waits."]
	return ["Ready.", `The next event of ${list(triggers.map(a => a.name), "or")} fires it, if the criteria and the guard let it.`]
}

const Readiness = ({ s, m }) => {
	m.beat.value
	const live = m.live
	const [first, more] = words(s, live)
	return html`<section aria-labelledby="ready">
		<h2 id="ready">What the next epoch waits for</h2>
		<p class="says"><strong>${first}</strong> ${more}</p>
		<ul class="inputs">${s.accumulators.map(a => {
		const dirty = own(live.state?.dirty, a.name) ?? a.dirty, there = own(live.state?.cache, a.name) !== undefined
		return html`<li key=${a.name}><span class=${"dot " + (dirty ? "dirty" : there ? "there" : "")} aria-hidden="true"></span>
			<strong>${a.name}</strong>
			<span>${dirty ? "has something new" : there ? "seen by the last epoch" : !live.state ? "nothing new" : a.last_event_at ? "no value yet" : "nothing yet"}
				${!a.triggers && ", does not trigger"}</span>
			${!well(a.health) && html`<${Health} health=${a.health} reason=${a.health_reason} /><${Advice} reason=${a.health_reason} /><${Lost} a=${a} />`}
			<span class="dim when"><${When} at=${a.last_event_at} /></span></li>`
	})}</ul>
	</section>`
}

const fates = [["filtered", "Filtered"], ["conflated", "Conflated"], ["rejected", "Rejected"], ["dead_lettered", "Dead letters"],
	["consumed", "Consumed"], ["queued", "Queued"]]

const Books = ({ s }) => {
	const rows = [...s.accumulators.map(a => [a.name, a.counters]), ...s.accumulators.length > 1 ? [["all", s.counters]] : []]
	return html`<section aria-labelledby="books">
		<h2 id="books">Books</h2>
		<p class="dim">Every event that came in is in exactly one place.</p>
		<div class="scroll" tabindex="0" role="group" aria-labelledby="books"><table>
			<thead><tr><th scope="col">Input</th><th scope="col">Balance</th>
				<th scope="col" class="number">Received</th>
				${fates.map(([, name]) => html`<th scope="col" class="number">${name}</th>`)}</tr></thead>
			<tbody>${rows.map(([name, c]) => {
		const off = c.received - fates.reduce((n, [id]) => n + c[id], 0)
		return html`<tr class=${name === "all" && rows.length > 1 ? "sum" : ""}><th scope="row">${name}</th>
			<td>${off === 0 ? html`<span class="good">✓ balances</span>` : html`<span class="dim">${exact(off)} in hand</span>`}</td>
			<td class="number">${exact(c.received)}</td>${fates.map(([id]) => html`<td class=${"number " + (c[id] ? "" : "dim")}>
				${exact(c[id])}</td>`)}
		</tr>`
	})}</tbody></table></div>
	</section>`
}

const Outputs = ({ s }) => html`<section aria-labelledby="outputs">
	<h2 id="outputs">Outputs</h2>
	<div class="scroll" tabindex="0" role="group" aria-labelledby="outputs"><table>
		<thead><tr><th scope="col">Output</th><th scope="col">Goes to</th><th scope="col" class="number">Put out</th>
			<th scope="col" class="number">Left out</th><th scope="col" class="number">Waiting</th>
			<th scope="col" class="number">Dead letters</th></tr></thead>
		<tbody>${s.outputs.map(o => html`<tr key=${o.name}><th scope="row">${o.name}</th>
			<td>${o.sink}${o.stopped && html` <span class="badge idle">■ stopped</span>`}
				${o.error && html` <span class="badge bad" title=${o.error}>✖ failing</span>`}</td>
			<td class="number">${exact(o.emitted)}</td><td class=${"number " + (o.filtered ? "" : "dim")}>${exact(o.filtered)}</td>
			<td class=${"number " + (o.pending ? "" : "dim")}>${exact(o.pending)}${o.oldest_pending_seconds > 1 &&
				html`<small>${" for " + seconds(Math.floor(o.oldest_pending_seconds))}</small>`}</td>
			<td class=${"number " + (o.failed ? "warn" : "dim")}>${exact(o.failed)}</td></tr>
			${o.error && html`<tr><td colspan="6" class="wrap bad">${o.error}</td></tr>`}
			${o.followers?.length > 0 && html`<tr><td colspan="6" class="wrap"><${Followers} of=${o.followers} /></td></tr>`}`)}</tbody></table></div>
</section>`

const Promises = ({ s }) => html`<section aria-labelledby="promises">
	<div class="bar"><h2 id="promises">Guarantees</h2><p><${Doc} to="guarantees">What they rest on<//></p></div>
	<dl class="promises">${Object.entries(s.guarantees ?? {}).map(([output, says]) => html`<dt>${output}</dt><dd>${says}</dd>`)}</dl>
</section>`

const Timeline = ({ m }) => {
	const points = () => {
		const fs = m.firings.rows.filter(f => !f.gap).slice(0, 400).reverse()
		const all = [fs.map(f => Date.parse(f.at) / 1000), fs.map(f => f.ok ? Math.max(1, f.duration_us) / 1e6 : null),
			fs.map(f => f.ok ? null : Math.max(1, f.duration_us) / 1e6)]
		if (fs.length && all[0][0] === all[0].at(-1)) // one moment alone would have a day for itself
			for (const row of all) row.push(row === all[0] ? row[0] + 1 : null)
		return all
	}
	const pick = k => {
		const fs = m.firings.rows.filter(f => !f.gap).slice(0, 400).reverse()
		if (fs[k]) set({ epoch: String(fs[k].epoch), shard: fs[k].shard ? String(fs[k].shard) : "" })
	}
	const s = m.summary.value, told = m.firings.left > 0 ? toldOf : ""
	return html`<section aria-labelledby="time">
		<h2 id="time">Over time</h2>
		<p class="legend"><span class="key accent"></span>events <span class="key second"></span>epochs, a second
			<span class="key gap"></span>not heard</p>
		<${Chart} kind="rates" name=${`Events and epochs a second, now ${rate(s.events_per_second)} and ` +
			rate(s.epochs_per_second)} data=${() => m.rates} gaps=${() => m.gaps} version=${m.beat.value} />
		<p class="legend">How long each epoch took${told}: <span class="key accent"></span>ok <span class="key bad"></span>failed</p>
		<${Chart} kind="epochs" name=${`How long each of the ${told ? "" : "last "}epochs took${told}; the list below has them`} data=${points}
			gaps=${() => m.gaps} version=${m.beat.value} pick=${pick} />
		<${Latency} rows=${m.firings.rows} told=${told} />
	</section>`
}

/** Piece is a piece of the picture in full. */
const Piece = ({ id, plan, s, m, firing }) => {
	const [kind, name] = [id.slice(0, 1), id.slice(2)]
	const rows = []
	let value
	if (kind === "i" || kind === "s") {
		const a = m.live.accumulators.get(name), i = plan.inputs.find(x => x.name === name)
		if (!a || !i) return null
		value = firing ? inputOf(firing, name).value : own(m.live.state?.cache, name)
		rows.push(["Kind", a.kind], ["Source", a.from ? `${a.source} ${a.from}` : a.source], ["Strategy", a.strategy],
			["Type", html`<code>${i.type}</code>`], ["Events", rate(a.rate)],
			["Queue", `${count(a.depth)} of ${count(a.capacity)}` + (a.seconds_to_full == null ? "" :
				`, full in ${seconds(a.seconds_to_full)}`)], ["Lag", a.lag == null ? "not known" : count(a.lag)],
			["Late", count(a.late)], ["Restarts", count(a.restarts)], ["Position", html`<code>${a.position || nothing}</code>`])
		if (a.health_reason) rows.push(["Health", html`${a.health_reason.detail}<${Advice} reason=${a.health_reason} />`])
	} else if (kind === "n") {
		const n = plan.nodes.find(x => x.name === name), was = own(firing?.nodes, name)
		if (!n) return null
		value = firing ? was?.value ?? undefined : own(m.live.state?.nodes, name)
		rows.push(["Kind", n.kind], ["Type", html`<code>${n.type}</code>`], ["On error", n.on_error.replace("_", " ")])
		if (n.after) rows.push(["After", html`<code>${n.after}</code>`])
		if (n.loop) rows.push(["Loop", n.loop])
		if (was) rows.push(["In this epoch", statuses[was.status] ?? was.status], ["Took", seconds(was.duration_us == null ? null :
			was.duration_us / 1e6)])
		if (was?.error) rows.push(["Error", was.error])
		const calls = s.calls?.find(c => c.node === name)
		if (calls) rows.push(["Calls", `${count(calls.out)} out, ${count(calls.waiting)} waiting, ${count(calls.answered)} ` +
			`answered, ${count(calls.failed)} failed`])
	} else {
		const o = m.live.outputs.get(name)
		if (!o) return null
		value = firing ? own(firing.outputs, name) : m.live.put.get(name)?.value
		rows.push(["From", o.from], ["Sink", `${o.sink}, ${o.path}`], ["Put out", count(o.emitted)],
			["Left out", count(o.filtered)], ["Waiting", count(o.pending) + (o.oldest_pending_seconds == null ? "" :
				`, for ${seconds(o.oldest_pending_seconds)}`)], ["Dead letters", count(o.failed)])
		if (o.error) rows.push(["Error", o.error])
	}
	return html`<div class="piece" role="region" aria-label=${name}>
		<div><h3>${name}</h3><dl class="facts">${rows.map(([k, v]) => html`<dt>${k}</dt><dd>${v}</dd>`)}</dl></div>
		<div><h3>${firing ? `Value in epoch ${firing.epoch}` : "Value"}</h3>${value === undefined ? html`<p class="dim">${firing ? "None." : "None yet."}</p>` :
			html`<${Value} value=${value} name=${"Value of " + name} />`}</div>
		<button class="quiet close" aria-label="Close" onClick=${() => set({ at: "" }, true)}>✕</button>
	</div>`
}
