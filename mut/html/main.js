// SPDX-License-Identifier: MIT
// main.js - puts the page together; a part whose data is wrong says so in its place
"use strict";

const DATA_VERSION = 1;

function baseName(path) {
	return String(path).split("/").pop();
}

function part(title, make, ...data) {
	try {
		return make(...data);
	} catch (error) {
		const card = el("section", { class: "card" }, el("h3", {}, title));
		showError(`This part cannot be shown: ${error.message}`, card);
		return card;
	}
}

function topologyText(topology) {
	const count = (value, word) => `${value} ${word}${value === 1 ? "" : "s"}`;
	return count(topology.cpus, "CPU") + " on " + count(topology.nodes, "node") +
		(topology.made_up ? " (made up)" : "") + (topology.spread ? ", the trace spread over them" : "");
}

const TOUCHES = { none: "new objects are not written to", line: "64 bytes of each new object are written",
	all: "all of each new object is written" };

function roundsText(data) {
	const fewer = data.traces.some((trace) => Object.values(trace.engines).some((one) => one.rounds < data.rounds));
	return `${fewer ? "up to " : ""}${data.rounds}; figures are medians` + (TOUCHES[data.touch] ?
		`; ${TOUCHES[data.touch]}` : "");
}

function facts(data) {
	const machine = data.machine || {};
	const list = el("dl", { class: "facts" });
	const add = (name, value) => value && list.append(el("dt", {}, name), el("dd", {}, value));
	add("Command", data.command && el("code", {}, data.command));
	add("Machine", [machine.cpu, number(machine.cpus) && `${machine.cpus} CPU${machine.cpus === 1 ? "" : "s"}`,
		machine.kernel].filter(Boolean).join(", "));
	add("Allocators see", data.topology && topologyText(data.topology));
	add("Rounds", number(data.rounds) && roundsText(data));
	add("Date", machine.date);
	add("uslab", data.uslab);
	return list;
}

function traceTags(trace) {
	const tag = (value, text) => el("span", {}, el("b", {}, value), " " + text);
	const box = el("div", { class: "tags" });
	box.append(tag(group(trace.events), trace.all_events > trace.events ?
		`events, the first of ${group(trace.all_events)}` : "events"));
	if (trace.copies > 1)
		box.append(tag(group(trace.copies), "copies at once"));
	box.append(tag(group(trace.allocations), "allocations"), tag(group(trace.frees), "frees"));
	if (number(trace.seconds))
		box.append(tag(seconds(trace.seconds), "of trace time"));
	box.append(tag(bytes(trace.live_peak_bytes), `live at most, at operation ${group(trace.live_peak_op)}`));
	return box;
}

// Engines that took part and could not.
function traceErrors(trace) {
	return el("div", {}, ...Object.entries(trace.errors || {}).map(([name, text]) =>
		el("p", { class: "error" }, `${name} has no figures: ${text}`)));
}

function traceSection(trace, index, data) {
	const section = el("section", { class: "trace", id: `trace-${index}`, "data-trace": trace.path },
		el("h2", { title: trace.path }, baseName(trace.path)), part("Trace", traceTags, trace),
		part("Errors", traceErrors, trace));
	section.append(part("Time", timeTable, trace, data), part("Memory", memoryTable, trace, data),
		part("Time against memory", scatterCard, trace), part("Memory over the trace", curvesCard, trace),
		part("Time of calls", latencyCards, trace), part("Pages when most bytes are live", mapsCard, trace));
	if (trace.scaling)
		section.append(part("More CPUs", scalingCard, trace));
	return section;
}

function summaryCard(data) {
	const engines = data.summary.engines;
	const ratio = (value) => `${trimmed(significant(value))}${NARROW}×`;
	return el("section", { class: "summary" }, el("h2", {}, "All traces"),
		el("div", { class: "card" },
			el("p", { class: "note" }, "Geometric means over the traces of each engine's ratio to slob; below 1 is better."),
			el("div", { class: "pair" }, figuresTable("Summary", SUMMARY_COLUMNS, engineNames(engines).map((name) =>
				({ name, figures: engines[name], notes: "" }))), scatterChart({
				name: "summary", label: "Time against slab bytes of each engine, as ratios to slob over all traces",
				points: scatterPoints(engines, "time_ratio_to_slob", "slab_bytes_ratio_to_slob"),
				xTitle: "time, ratio to slob", yTitle: "slab bytes, ratio to slob", xText: ratio, yText: ratio,
				floor: null,
			}))));
}

function readData() {
	const data = JSON.parse(document.getElementById("data").textContent);
	if (!data || data.version !== DATA_VERSION)
		throw new Error(`data of version ${data && data.version}; this page knows version ${DATA_VERSION}`);
	if (!Array.isArray(data.traces) || !data.traces.length)
		throw new Error("there is no trace in it");
	return data;
}

function buildPage(data) {
	const page = document.getElementById("page");
	const names = data.traces.map((trace) => baseName(trace.path));
	document.title = `uslab compare: ${names.join(", ")}`;
	page.append(el("h1", {}, "Slab allocators compared"),
		el("p", { class: "lead" }, `${names.join(", ")} – the same allocations through ` +
			`${Object.keys(data.traces[0].engines).length} engines`), part("Facts", facts, data));
	if (data.traces.length > 1) {
		page.append(el("nav", { "aria-label": "Traces" }, el("ul", {}, ...names.map((name, i) =>
			el("li", {}, el("a", { href: `#trace-${i}` }, name))))));
		if (data.summary)
			page.append(part("All traces", summaryCard, data));
	}
	data.traces.forEach((trace, i) => page.append(part(names[i], traceSection, trace, i, data)));
}

function watchTheme() {
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
	const print = (on) => () => { // paper is white and narrow
		document.documentElement.toggleAttribute("data-print", on);
		redrawAll();
	};
	window.addEventListener("beforeprint", print(true));
	window.addEventListener("afterprint", print(false));
}

function start() {
	try {
		buildPage(readData());
	} catch (error) {
		showError(`The data of this page cannot be shown: ${error.message}`);
	}
	placeAll();
	watchTheme();
	document.documentElement.dataset.ready = "true";
}

start();
