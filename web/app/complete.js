// What can be put at a place of a declaration: fields and words by the JSON Schema that the daemon serves, and the names
// that the text declares.

const word = /[\w.-]*$/

/** flat are the schemas that one stands for, without references and choices. */
const flat = (root, s, deep = 0) => {
	if (!s || typeof s !== "object" || deep > 12) return []
	const all = [s]
	if (s.$ref?.startsWith("#/")) {
		all.push(...flat(root, s.$ref.slice(2).split("/").reduce((at, name) => at?.[name.replace(/~1/g, "/").replace(/~0/g, "~")], root), deep + 1))
	}
	for (const of of [s.allOf, s.anyOf, s.oneOf]) for (const one of of ?? []) all.push(...flat(root, one, deep + 1))
	return all
}

/** within are the schemas of what stands in some under a key, "-" for an element of a list. */
const within = (root, schemas, key) => schemas.flatMap(s => {
	if (key === "-") return flat(root, s.items)
	if (s.properties && Object.hasOwn(s.properties, key)) return flat(root, s.properties[key])
	for (const [form, of] of Object.entries(s.patternProperties ?? {})) if (new RegExp(form).test(key)) return flat(root, of)
	return flat(root, s.additionalProperties)
})

/** inFlow is where the end of a line stands in its braces: the keys that lead there, and whether a value comes next. */
const inFlow = line => {
	const open = []
	let key = "", quote = "", from = 0
	for (let i = 0; i < line.length; i++) {
		const c = line[i]
		if (quote) {
			if (c === quote) quote = ""
		} else if (c === "#" && /\s/.test(line[i - 1] ?? " ")) return null
		else if (c === '"' || c === "'") quote = c
		else if (c === "{" || c === "[") {
			open.push({ key, list: c === "[" })
			key = c === "[" ? "-" : ""
			from = i + 1
		} else if (c === "}" || c === "]") key = open.pop()?.key ?? ""
		else if (c === "," && open.length) {
			key = open.at(-1).list ? "-" : ""
			from = i + 1
		} else if (c === ":" && /\s/.test(line[i + 1] ?? "") && key !== "-" && !key) key = line.slice(from, i).trim().replace(/^(- *)+/, "").replace(/["']/g, "")
	}
	return { keys: [...open.map(o => o.key), key].filter((k, i, all) => k || i < all.length - 1), value: key !== "", quoted: quote !== "" }
}

const indent = line => line.length - line.trimStart().length

/** placeOf are the keys that lead to a place of a text, and whether it is that of a value. */
const placeOf = (text, at) => {
	const lines = text.slice(0, at).split("\n"), line = lines.pop()
	const flow = inFlow(line)
	if (!flow) return null
	const path = flow.keys.filter(Boolean)
	let depth = indent(line)
	if (/^\s*- /.test(line)) path.unshift("-")
	for (let i = lines.length - 1; i >= 0 && depth > 0; i--) {
		const l = lines[i], of = indent(l)
		if (!l.trim() || l.trim().startsWith("#") || of >= depth) continue
		const found = /^\s*((?:- )*)["']?([\w.-]+)["']?:/.exec(l)
		if (found) path.unshift(...(found[1] ? ["-"] : []), found[2])
		depth = of
	}
	return { path, value: flow.value, depth: flow.keys.length > 1 ? -1 : indent(line) }
}

/** siblings are the fields that stand beside a place, each on a line of its own. */
const siblings = (text, at, depth) => {
	const lines = text.split("\n"), row = text.slice(0, at).split("\n").length - 1, found = new Set()
	const of = line => /^\s*["']?([\w.-]+)["']?:/.exec(line)?.[1]
	for (const step of [-1, 1]) for (let i = row + step; i >= 0 && i < lines.length; i += step) {
		if (!lines[i].trim()) continue
		if (indent(lines[i]) < depth) break
		if (indent(lines[i]) === depth) found.add(of(lines[i]))
	}
	return found
}

/** namesOf are the names that a text declares in its sections. */
const namesOf = text => {
	const names = new Map()
	let section = ""
	for (const line of text.split("\n")) {
		const top = /^([a-z_]+):/.exec(line)?.[1], inner = /^ {1,4}([a-z]\w*):/.exec(line)?.[1]
		if (top) section = top
		const put = name => names.set(name, section.replace(/s$/, ""))
		if (!["accumulators", "nodes"].includes(section)) continue
		if (top) for (const m of line.matchAll(/[{,]\s*([a-z]\w*): *\{/g)) put(m[1])
		else if (inner) put(inner)
	}
	return names
}

/** options are what can be put at a place of a text: from where on, and each with what is put there. */
export const options = (schema, text, at) => {
	const place = placeOf(text, at), begun = word.exec(text.slice(0, at))[0]
	if (!place) return { from: at, items: [] }
	const of = place.path.reduce((all, key) => within(schema, all, key), flat(schema, schema))
	const items = new Map(), add = (label, put, about = "") => {
		if (label !== begun && label.startsWith(begun) && !items.has(label)) items.set(label, { label, put, about })
	}
	if (place.value) {
		for (const s of of) {
			for (const one of [...(s.enum ?? []), ...("const" in s ? [s.const] : []), ...(s.type === "boolean" ? [true, false] : [])]) add(String(one), String(one))
		}
		if (items.size === 0) for (const [name, section] of namesOf(text)) add(name, name, section)
	} else {
		const there = siblings(text, at, place.depth)
		for (const s of of) for (const [name, of] of Object.entries(s.properties ?? {})) if (!there.has(name)) add(name, name + ": ", of.description ?? "")
	}
	return { from: at - begun.length, items: [...items.values()].slice(0, 50) }
}
