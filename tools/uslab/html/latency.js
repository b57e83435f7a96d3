// SPDX-License-Identifier: MIT
// latency.js - how long calls take: a histogram per engine, and median, p99 and p99.9 below it
"use strict";

const MARKS = [["median", "median"], ["p99", "p99"], ["p99_9", "p99.9"]];
const ROW_HEIGHT = 20;
const NAMES_WIDTH = 100; // pixels left of both pictures, which have one x axis

const TAIL_TICKS = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1];
const MARK_KEYS = ["● median", "┃ p99: 99 of 100 calls are quicker", "◇ p99.9"];

const STEPS_PER_DECADE = 10; // of the curves' points

function total(counts) {
	return counts.reduce((sum, count) => sum + count, 0);
}

// Where a time is on the scale of steps; edges that are written with few digits are whole steps again.
function stepOf(ns) {
	const step = Math.log10(Math.max(ns, 1)) * STEPS_PER_DECADE;
	return Math.abs(step - Math.round(step)) < 0.02 ? Math.round(step) : step;
}

// Map of step -> count: what a bucket holds is spread over the steps that it covers.
function stepCounts(histogram) {
	const counts = new Map();
	histogram.count.forEach((count, i) => {
		const from = stepOf(histogram.ns[i]);
		const to = i + 1 < histogram.ns.length ? stepOf(histogram.ns[i + 1]) : from + 1;
		for (let step = Math.floor(from); count && step < to; step++) {
			const covered = to > from ? (Math.min(to, step + 1) - Math.max(from, step)) / (to - from) : 1;
			counts.set(step, (counts.get(step) || 0) + count * covered);
		}
	});
	return counts;
}

// [x, shares of each engine]: x is the middle of a step, null where an engine has nothing near.
function shares(histograms) {
	const counted = histograms.map(stepCounts);
	const used = counted.flatMap((counts) => [...counts.keys()]);
	const first = Math.min(...used) - 1;
	const steps = Array.from({ length: Math.max(...used) + 2 - first }, (_, i) => first + i);
	return [steps.map((step) => 10 ** ((step + 0.5) / STEPS_PER_DECADE)), ...counted.map((counts) => {
		const all = total([...counts.values()]);
		// The ends of a line come down to zero.
		return steps.map((step) => counts.has(step) || counts.has(step - 1) || counts.has(step + 1) ?
			(counts.get(step) || 0) / all : null);
	})];
}

// The share of calls that take at least as long.
function tails(data) {
	return [data[0], ...data.slice(1).map((list) => {
		let rest = 0;
		const tail = list.slice();
		for (let i = list.length - 1; i >= 0; i--) {
			rest += list[i];
			tail[i] = rest > 1e-12 ? Math.min(1, rest) : null;
		}
		return tail;
	})];
}

// The x axis: all that was measured where tails are shown; else rare long calls would leave no room for the rest.
function latencyRange(data, engines, names, side, tail) {
	const marks = names.flatMap((name) => MARKS.map(([key]) => engines[name][side].ns[key])).filter((v) => v > 0);
	const longest = data[0][data[0].length - 1];
	return [Math.min(data[0][0], ...marks) * 0.9, Math.max(tail ? longest : Math.min(longest, 2 * Math.max(...marks)),
		...marks) * 1.1];
}

function latencySplits(range, width) {
	return decadeSplits(range[0], range[1], (width - NAMES_WIDTH) / 55);
}

function latencyChart(trace, names, side, data, tail) {
	const range = latencyRange(data, trace.engines, names, side, tail);
	const given = (splits) => ({ splits, filter: (u, all) => all });
	return curveChart({
		name: `latency-${side}`, label: `Distribution of the time of ${side} calls in ${trace.path}`, height: 260,
		hint: "Log scale. Point at the curves to read them.",
		data: tail ? tails(data) : data,
		series: names.map((engine) => ({ engine })),
		below: [marksPicture(trace, names, side, range),
			el("p", { class: "note keys" }, ...MARK_KEYS.map((text) => el("span", {}, text)))],
		scales: {
			x: { time: false, distr: 3, log: 10, range: () => range },
			y: tail ? { distr: 3, log: 10, range: [TAIL_TICKS[0], 1.2] } :
				{ distr: 1, range: (u, min, max) => [0, max * 1.05] },
		},
		axes: () => [
			axis(nanoseconds, given((u) => latencySplits(range, u.width))),
			axis(percent, { size: NAMES_WIDTH, ...(tail ? given(() => TAIL_TICKS) : {}) }),
		],
		xText: (value) => `${tail ? "at least" : "around"} ${nanoseconds(value)}:`,
		yText: percent,
	});
}

// Median, p99 and p99.9 of each engine in a row, on the scale of the curves above.
function marksPicture(trace, names, side, range) {
	const box = el("div", { class: "chart", "data-chart": `marks-${side}` });
	const draw = () => {
		const width = widthOf(box);
		const [left, right] = [NAMES_WIDTH, width - CHART_RIGHT];
		const place = (ns) => left + (right - left) * Math.log(Math.max(ns, range[0]) / range[0]) /
			Math.log(range[1] / range[0]);
		const shown = names.filter((name) => !hidden.has(name));
		const height = shown.length * ROW_HEIGHT + 24;
		const picture = svg("svg", { width, height, role: "img",
			"aria-label": `Median, p99 and p99.9 of ${side} calls in ${trace.path}` });
		for (const tick of latencySplits(range, width))
			picture.append(svg("line", { x1: place(tick), x2: place(tick), y1: 0, y2: height - 20, stroke: "var(--grid)" }),
				svg("text", { x: place(tick), y: height - 5, "text-anchor": "middle", class: "muted" },
					nanoseconds(tick)));
		shown.forEach((name, i) => picture.append(marksRow(name, trace.engines[name][side].ns, place,
			i * ROW_HEIGHT + ROW_HEIGHT / 2)));
		box.replaceChildren(picture);
		box.dataset.drawn = shown.length;
	};
	whenPlaced(box, () => {
		draw();
		onRedraw(box, draw);
		onResize(box, draw);
	});
	return box;
}

function marksRow(name, ns, place, y) {
	const paint = `var(${styleOf(name).color})`;
	const row = svg("g", { "data-engine": name }, svg("text", { x: NAMES_WIDTH - 8, y: y + 4, "text-anchor": "end" }, name));
	const present = MARKS.filter(([key]) => ns[key] > 0);
	if (!present.length)
		return row;
	const ends = present.map(([key]) => place(ns[key]));
	row.append(svg("line", { x1: Math.min(...ends), x2: Math.max(...ends), y1: y, y2: y, stroke: paint, "stroke-width": 2 }));
	for (const [key, label] of present) {
		const x = place(ns[key]);
		const mark = key === "median" ? svg("circle", { cx: x, cy: y, r: 5, fill: paint }) :
			key === "p99" ? svg("line", { x1: x, x2: x, y1: y - 6, y2: y + 6, stroke: paint, "stroke-width": 3 }) :
				svg("path", { d: shapePath("diamond", x, y, 4.5), fill: "var(--card)", stroke: paint,
					"stroke-width": 2 });
		mark.append(svg("title", {}, `${name}: ${label} ${nanoseconds(ns[key])}`));
		row.append(mark);
	}
	return row;
}

function latencyCard(trace, side) {
	const names = engineNames(trace.engines).filter((name) => {
		const histogram = pick(trace.engines[name], `histogram.${side}`);
		return histogram && total(histogram.count) > 0;
	});
	if (!names.length)
		return el("section", { class: "card" }, el("h3", {}, `Time of ${side} calls`),
			el("p", { class: "note" }, "No calls of this kind were measured."));
	const data = shares(names.map((name) => trace.engines[name].histogram[side]));
	const place = el("div", {}, latencyChart(trace, names, side, data, false).box);
	const control = choice("Show", [["share", "share of calls"], ["tail", "share that takes longer"]], (value) => {
		place.replaceChildren(latencyChart(trace, names, side, data, value === "tail").box);
		placeAll();
	});
	return el("section", { class: "card" },
		el("div", { class: "head" }, el("div", {}, el("h3", {}, `Time of ${side} calls`)),
			el("div", { class: "controls" }, control)),
		place);
}

function latencyCards(trace) {
	return el("div", { class: "pair" }, latencyCard(trace, "alloc"), latencyCard(trace, "free"));
}
