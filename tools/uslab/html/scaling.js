// SPDX-License-Identifier: MIT
// scaling.js - what engines cache for more and more CPUs, with the nodes given and with one
"use strict";

const SCALING = [["queue_bytes", "queue bytes", bytes], ["cpu_slab_bytes", "CPU slab bytes", bytes],
	["slab_bytes", "slab bytes", bytes], ["ns_per_op", "time per operation", nanoseconds]];
// Rows of the table: where the figures are, whose, and what is said of them.
const SCALING_ROWS = [["", "queue_bytes", ""], ["", "queue_bytes_one_node", "one node"],
	["", "cpu_slab_bytes", "CPU slabs"], ["", "cpu_slab_bytes_one_node", "CPU slabs, one node"],
	["constant", "queue_bytes", "constant work"], ["constant", "cpu_slab_bytes", "CPU slabs, constant work"]];
const ONE_NODE_DASH = [3, 4];

// The y axis of bytes: powers of two, and 0 where an engine keeps nothing.
function bytesScale(values) {
	const [least, most] = [Math.min(...values), Math.max(1, ...values)];
	const low = Math.max(least, KIB);
	const first = Math.floor(Math.log2(Math.min(low, most)));
	const last = Math.ceil(Math.log2(most));
	const step = Math.ceil((last - first + 1) / 9);
	const ticks = Array.from({ length: last - first + 1 }, (_, i) => 2 ** (first + i))
		.filter((tick, i) => i % step === 0);
	const given = { filter: (u, all) => all };
	if (least >= KIB)
		return { scale: { distr: 3, log: 2, range: [ticks[0], most * 1.3] }, axis: { ...given, splits: () => ticks } };
	return { scale: { distr: 4, asinh: KIB, range: [0, most * 1.3] }, axis: { ...given, splits: () => [0, ...ticks] } };
}

function scalingChart(trace, scaling, what, format) {
	const names = engineNames(scaling.engines).filter((name) => Array.isArray(scaling.engines[name][what]));
	const series = names.flatMap((engine) => {
		const both = [{ engine, dash: [], points: true, values: scaling.engines[engine][what] }];
		const one = scaling.engines[engine][`${what}_one_node`];
		return one ? both.concat([{ engine, dash: ONE_NODE_DASH, points: true, values: one }]) : both;
	});
	const isBytes = format === bytes;
	const y = isBytes ? bytesScale(series.flatMap((one) => one.values.filter(number))) :
		{ scale: { distr: 1, range: (u, low, high) => [0, high * 1.05] }, axis: {} };
	return curveChart({
		name: "scaling", label: `${what} of each engine over the number of CPUs in ${trace.path}`, height: 360,
		hint: "Point at the curves to read them" + (scaling === trace.scaling ?
			": with the nodes given / with all CPUs on one node." : "."), solid: true,
		data: [scaling.cpus, ...series.map((one) => one.values)], series,
		scales: {
			x: { time: false, distr: 3, log: 2 },
			y: y.scale,
		},
		axes: () => [
			axis((value) => value === 1 ? "1 CPU" : group(value), { splits: () => scaling.cpus, filter: (u, splits) => splits }),
			axis(isBytes ? byteTick : format, { size: AXIS_SIZE, ...y.axis }),
		],
		xText: (value) => {
			const nodes = (scaling.nodes || [])[scaling.cpus.indexOf(value)];
			return `${value} CPU${value === 1 ? "" : "s"}` + (number(nodes) ?
				`, ${nodes} node${nodes === 1 ? "" : "s"}${scaling === trace.scaling ? " / one node" : ""}:` : ":");
		},
		yText: format,
	});
}

function scalingTable(trace) {
	const { scaling } = trace;
	const names = engineNames(scaling.engines);
	const head = el("tr", {}, el("th", { scope: "col" }, "queue bytes"), ...scaling.cpus.map((cpus, i) =>
		el("th", { scope: "col" }, `${cpus} CPU${cpus === 1 ? "" : "s"}`,
			number((scaling.nodes || [])[i]) ? el("small", {}, `, ${scaling.nodes[i]} n.`) : null)));
	const row = (name, [series, key, note]) => {
		const engine = ((series ? scaling[series] : scaling) || { engines: {} }).engines[name] || {};
		const values = engine[key] || [];
		if (note && !values.some((value) => value > 0)) // what an engine never has
			return null;
		return el("tr", { "data-engine": name, "data-series": series }, el("th", { scope: "row" }, swatch(name), name,
			note ? el("small", {}, note) : null), ...scaling.cpus.map((cpus, i) => el("td", { "data-key": key,
			"data-cpus": cpus, "data-value": number(values[i]) ? values[i] : "" }, bytes(values[i]))));
	};
	const rows = names.flatMap((name) => SCALING_ROWS.map((what) => row(name, what)).filter(Boolean));
	return el("details", {}, el("summary", {}, "The same as a table"),
		el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Queue bytes by number of CPUs" },
			el("table", { class: "figures", "data-table": "Scaling" }, el("thead", {}, head), el("tbody", {}, ...rows))));
}

function scalingCard(trace) {
	const place = el("div", {});
	const { constant } = trace.scaling;
	const state = { work: "growing" };
	const show = () => {
		const [, text, format] = SCALING.find(([key]) => key === state.what);
		const scaling = state.work === "growing" ? trace.scaling : constant;
		if (Object.values(scaling.engines).some((engine) => Array.isArray(engine[state.what])))
			place.replaceChildren(scalingChart(trace, scaling, state.what, format).box);
		else
			place.replaceChildren(el("p", { class: "note" }, `Not measured at constant work: ${text}.`));
	};
	const measured = SCALING.filter(([key]) =>
		Object.values(trace.scaling.engines).some((engine) => Array.isArray(engine[key])));
	const change = (key) => (value) => {
		state[key] = value;
		show();
		placeAll();
	};
	const works = [["growing", "growing work"], ["constant", "at constant work"]];
	state.what = measured[0][0];
	show();
	return el("section", { class: "card" },
		el("div", { class: "head" },
			el("div", {}, el("h3", {}, "More CPUs"),
				el("p", { class: "note" }, "So many copies of the trace" + (number(trace.scaling.events) ?
					` (${group(trace.scaling.events)} events)` : "") + " at once that 1, 2, 4, ... made-up CPUs are loaded: " +
					"what each engine then caches, on log scales. " +
					"Solid: with the nodes given; dotted: all CPUs on one node." + (constant ?
					` At constant work the CPUs share the same ${group(constant.operations)} operations.` : ""))),
			el("div", { class: "controls" }, choice("Show", measured, change("what")),
				constant ? choice("Work", works, change("work")) : null)),
		place, scalingTable(trace));
}
