// The shards of a graph: how each stands, and which member runs it.
import { html, useEffect, useState } from "./vendor.js"
import { ask } from "./api.js"
import { tenant } from "./route.js"
import { Health, When } from "./parts.js"
import { exact, nothing } from "./format.js"

/** useOwners are the members by the shards of a graph that they run, asked for again when one of these has begun anew. */
const useOwners = (graph, of, begun) => {
	const [owners, put] = useState({ by: new Map(), members: 0 })
	useEffect(() => {
		const ends = new AbortController()
		const look = () => ask("GET", "/v1/members", { signal: ends.signal }).then(({ items }) => {
			const by = new Map()
			for (const m of items) for (const g of m.graphs ?? [])
				if (g.graph === graph && g.tenant === (of || g.tenant)) by.set(g.shard ?? 0, m)
			put({ by, members: items.length })
		}, () => { /* who runs it is not known then, as before */ })
		look()
		const again = setTimeout(look, 5000) // the store says who has a shard a little later
		return () => {
			clearTimeout(again)
			ends.abort()
		}
	}, [graph, of, begun])
	return owners
}

/** Shards are the shards of a graph, which is dealt. */
export const Shards = ({ s }) => {
	const { by, members } = useOwners(s.graph, s.tenant || tenant.value, s.shards.map(x => x.incarnation + x.health).join())
	const spread = members > 1
	return html`<section aria-labelledby="shards">
		<h2 id="shards">Shards</h2>
		<div class="scroll" tabindex="0" role="group" aria-labelledby="shards"><table>
			<thead><tr><th scope="col" class="number">Shard</th><th scope="col">Health</th>
				${spread && html`<th scope="col">Runs at</th>`}<th scope="col" class="number">Epoch</th>
				<th scope="col" class="number">Keys</th><th scope="col" class="number">Queued</th><th scope="col" class="number">Lag</th>
				<th scope="col" class="number">Dead letters</th><th scope="col">Last fire</th></tr></thead>
			<tbody>${s.shards.map(x => html`<tr key=${x.shard}><th scope="row" class="number">${x.shard}</th>
				<td><${Health} health=${x.health} paused=${x.paused} reason=${x.health_reason} /></td>
				${spread && html`<td><${Owner} m=${by.get(x.shard)} /></td>`}
				<td class="number">${exact(x.epoch)}</td><td class="number">${exact(x.keys)}</td>
				<td class="number">${exact(x.queued)}</td><td class="number">${exact(x.lag)}</td>
				<td class=${"number " + (x.dead_lettered ? "warn" : "dim")}>${exact(x.dead_lettered)}</td>
				<td><${When} at=${x.last_fired_at} /></td></tr>`)}</tbody></table></div>
	</section>`
}

const Owner = ({ m }) => !m ? html`<span class="dim" title="no member has it at this time">${nothing}</span>` : html`<span title=${m.id}>${
	m.name || m.id}</span>${m.self && html` <span class="dim">(this one)</span>`}${m.state !== "live" && html` <span class="badge warn">${m.state}</span>`}`
