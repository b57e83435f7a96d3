// SPDX-License-Identifier: MIT
// table.js - the figures of a trace as tables that a click sorts; less is better in every column
"use strict";

function pick(object, path) {
	return path.split(".").reduce((at, key) => at === null || at === undefined ? null : at[key], object);
}

// Columns: what the figure is (a path into the engine's object), its kind, and whether it has a bar.
const TIME_COLUMNS = [
	["all operations", [["ns_per_op", "mean", "ns", true], ["ratio_to_slob.time", "to slob", "ratio"]]],
	["alloc", latencyColumns("alloc")],
	["free", latencyColumns("free")],
];
const MEMORY_COLUMNS = [
	["slab bytes", [["slab_bytes.at_live_peak", "at live peak", "bytes", true],
		["ratio_to_slob.slab_bytes", "to slob", "ratio"], ["slab_bytes.peak", "highest", "bytes"],
		["slab_bytes.mean", "mean", "bytes"], ["slab_bytes.end", "end", "bytes"]]],
	["slab bytes / requested", [["fragmentation.at_live_peak", "at live peak", "ratio"],
		["fragmentation.mean", "mean", "ratio"], ["fragmentation.end", "end", "ratio"]]],
	["queue bytes", [["queue_bytes.at_live_peak", "at live peak", "bytes"], ["queue_bytes.peak", "highest", "bytes"],
		["queue_bytes.end", "end", "bytes"]]],
	["CPU slab bytes", [["cpu_slab_bytes.at_live_peak", "at live peak", "bytes"],
		["cpu_slab_bytes.peak", "highest", "bytes"], ["cpu_slab_bytes.end", "end", "bytes"]]],
	["", [["page_allocations", "page blocks", "count"], ["meta_bytes", "metadata", "bytes"]]],
];
const SUMMARY_COLUMNS = [
	["ratio to slob, over all traces", [["time_ratio_to_slob", "time", "ratio", true],
		["slab_bytes_ratio_to_slob", "slab bytes at live peak", "ratio", true]]],
];

function latencyColumns(side) {
	return [[side + ".ns.median", "median", "ns"], [side + ".ns.p99", "p99", "ns"], [side + ".ns.p99_9", "p99.9", "ns"],
		[side + ".ns.max", "longest", "ns"], [side + ".instructions", "a call", "instr."]];
}

// The unit and format of a column, from the largest value: one unit for all rows, and for all columns of
// bytes that stand together.
function columnFormat(kind, values) {
	const most = Math.max(0, ...values.filter(number).map(Math.abs));
	if (kind === "bytes") {
		let power = 0;
		while (power < BYTE_UNITS.length - 1 && most >= 10 * KIB ** (power + 1))
			power++;
		const digits = power && most / KIB ** power < 100 ? 1 : 0;
		return { unit: BYTE_UNITS[power], text: (value) => group(value / KIB ** power, digits) };
	}
	if (kind === "ratio")
		return { unit: "×", text: (value) => value.toFixed(most >= 100 ? 1 : value < 0.1 ? 3 : 2) };
	if (kind === "count")
		return { unit: "", text: (value) => group(value) };
	return { unit: kind, text: (value) => group(value, most < 1000 ? 1 : 0) };
}

// Marks the best, unless most are equal to it: then it says nothing.
function bestOf(values) {
	const numbers = values.filter(number);
	const best = Math.min(...numbers);
	return numbers.filter((value) => value === best).length * 2 < numbers.length ? best : null;
}

function figureCell(column, value) {
	if (!number(value))
		return el("td", { "data-key": column.key, "data-value": "", class: column.first ? "first" : null }, "–");
	const best = value === column.best;
	const cell = el("td", { "data-key": column.key, "data-value": value, title: `${value} ${column.exact}`.trim(),
		class: [best && "best", column.bar && "bar", column.first && "first"].filter(Boolean).join(" ") || null },
	column.format.text(value));
	if (best)
		cell.append(el("span", { class: "hidden-text" }, " best"));
	if (column.bar)
		cell.style.setProperty("--share", `${100 * value / column.most}%`);
	return cell;
}

function columnsOf(groups, rows) {
	const valuesOf = (key) => rows.map((row) => pick(row.figures, key));
	return groups.map(([title, members]) => [title, members.map(([key, label, kind, bar]) => {
		const values = valuesOf(key);
		const format = columnFormat(kind, kind === "bytes" ?
			members.filter((other) => other[2] === kind).flatMap((other) => valuesOf(other[0])) : values);
		return { key, label, bar, format, first: false, best: bestOf(values), most: Math.max(...values.filter(number)),
			exact: kind === "bytes" ? "B" : format.unit, empty: !values.some(number) };
	}).filter((column) => !column.empty)]).filter(([, members]) => members.length).map(([title, members]) => {
		members[0].first = true;
		return [title, members];
	});
}

function sortRows(table, th, key) {
	const down = th.getAttribute("aria-sort") === "ascending";
	const body = table.tBodies[0];
	const valueOf = (row) => {
		if (!key)
			return Number(row.dataset.order);
		const text = row.querySelector(`[data-key="${key}"]`).dataset.value;
		return text === "" ? NaN : Number(text);
	};
	const compare = (a, b) => { // what has no figure comes last both ways
		const [left, right] = [valueOf(a), valueOf(b)];
		if (Number.isNaN(left) || Number.isNaN(right))
			return Number.isNaN(left) - Number.isNaN(right);
		return down ? right - left : left - right;
	};
	for (const other of table.querySelectorAll("[aria-sort]"))
		other.removeAttribute("aria-sort");
	th.setAttribute("aria-sort", down ? "descending" : "ascending");
	body.append(...Array.from(body.rows).sort(compare));
}

function sortHead(table, label, unit, key) {
	const button = el("button", { type: "button", title: "sort" }, label, unit ? el("small", {}, " " + unit) : null);
	const th = el("th", { scope: "col" }, button);
	button.addEventListener("click", () => sortRows(table, th, key));
	return th;
}

// rows: [{name, figures, notes}]; groups as above.
function figuresTable(title, groups, rows) {
	const table = el("table", { class: "figures", "data-table": title });
	const columns = columnsOf(groups, rows);
	const top = el("tr", { class: "groups" }, el("th", {}));
	const head = el("tr", {}, sortHead(table, "engine", null, null));
	head.firstChild.setAttribute("aria-sort", "ascending");
	for (const [name, members] of columns) {
		top.append(el(name ? "th" : "td", { colspan: members.length, scope: name ? "colgroup" : null }, name));
		head.append(...members.map((column) => sortHead(table, column.label, column.format.unit, column.key)));
	}
	const body = el("tbody", {}, ...rows.map((row, i) => el("tr", { "data-engine": row.name, "data-order": i },
		el("th", { scope: "row" }, swatch(row.name), row.name, row.notes ? el("small", {}, row.notes) : null),
		...columns.flatMap(([, members]) => members.map((column) =>
			figureCell(column, pick(row.figures, column.key)))))));
	table.append(el("caption", { class: "hidden-text" }, title), el("thead", {}, top, head), body);
	return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, table);
}

// With notes where an engine is not what its name says: its front, or fewer rounds than the others.
function engineRows(engines, rounds) {
	return engineNames(engines).map((name) => {
		const figures = engines[name];
		const notes = figures.front && figures.front !== "none" ? [`front ${figures.front}`] : [];
		if (number(figures.rounds) && figures.rounds !== rounds)
			notes.push(`${figures.rounds} round${figures.rounds === 1 ? "" : "s"}`);
		return { name, figures, notes: notes.join(", ") };
	});
}

function timeTable(trace, data) {
	return el("section", { class: "card" }, el("h3", {}, "Time"),
		el("p", { class: "note" }, "Less is better; the best of a column is marked. ",
			"A click on a heading sorts."),
		figuresTable("Time", TIME_COLUMNS, engineRows(trace.engines, data.rounds)));
}

function memoryTable(trace, data) {
	const rows = engineRows(trace.engines, data.rounds).map((row) => ({ ...row, notes: "" }));
	return el("section", { class: "card" }, el("h3", {}, "Memory"),
		el("p", { class: "note" }, "Slab bytes: the pages that an engine took for objects. " +
			"Queue bytes: free objects in arrays of CPUs and nodes. " +
		"CPU slab bytes: free objects in slabs that belong to a CPU, which are no queues. " +
			"Page blocks: how many an engine asked for in all."),
		figuresTable("Memory", MEMORY_COLUMNS, rows));
}
