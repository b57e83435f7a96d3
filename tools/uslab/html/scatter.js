// SPDX-License-Identifier: MIT
// scatter.js - time against memory: one mark per engine, the lower left is best
"use strict";

const SCATTER_HEIGHT = 380;
const LOG_FROM = 8; // a log axis where the largest is that many times the smallest

// A scale of one axis: place(value) in 0..1, and ticks with which it begins and ends.
function scatterScale(values, floor, ofBytes) {
	const [low, high] = [Math.min(...values, floor), Math.max(...values)];
	if (high / low >= LOG_FROM) {
		const [from, to] = [Math.log(low / 1.3), Math.log(high * 1.3)];
		return { log: true, place: (v) => (Math.log(v) - from) / (to - from),
			ticks: decadeSplits(low / 1.3, high * 1.3, 9) };
	}
	const margin = (high - low || high || 1) * 0.1;
	const [from, to] = [Math.max(0, low - margin), high + margin];
	return { log: false, place: (v) => (v - from) / (to - from), ticks: linearTicks(from, to, ofBytes) };
}

// Five to ten ticks; those of bytes have powers of two between them.
function linearTicks(from, to, ofBytes) {
	const rough = (to - from) / 7;
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = ofBytes ? 2 ** Math.round(Math.log2(rough)) :
		power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
	const first = Math.ceil(from / step);
	return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, i) => (first + i) * step);
}

// Labels go where they meet neither a mark nor one another: right, left, above or below of their mark.
function placeLabels(points, frame, occupied) {
	const taken = points.map(({ x, y }) => [x - 8, y - 8, x + 8, y + 8]).concat(occupied);
	return points.map((point) => {
		const width = point.name.length * 7.2 + 4;
		const boxes = [
			["start", point.x + 12, point.y + 4], ["end", point.x - 12, point.y + 4],
			["middle", point.x, point.y - 13], ["middle", point.x, point.y + 22],
			["start", point.x + 10, point.y - 10], ["start", point.x + 10, point.y + 18],
			["end", point.x - 10, point.y - 10], ["end", point.x - 10, point.y + 18],
		].map(([anchor, x, y]) => {
			const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
			return { anchor, x, y, box: [left, y - 12, left + width, y + 3] };
		});
		const free = boxes.find(({ box }) => box[0] >= frame.left && box[2] <= frame.right && box[1] >= frame.top &&
			box[3] <= frame.bottom && !taken.some((other) => overlaps(box, other))) || boxes[0];
		taken.push(free.box);
		return free;
	});
}

function overlaps(a, b) {
	return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

// chart: { name, label, points: [{ name, x, y }], xTitle, yTitle, xText, yText, floor: { y, text } | null }
function scatterPicture(chart, width) {
	const frame = { left: AXIS_SIZE, right: width - 16, top: 14, bottom: SCATTER_HEIGHT - 46 };
	const xs = scatterScale(chart.points.map((p) => p.x), Infinity);
	const ys = scatterScale(chart.points.map((p) => p.y), chart.floor ? chart.floor.y : Infinity,
		chart.yText === byteTick);
	const x = (value) => frame.left + xs.place(value) * (frame.right - frame.left);
	const y = (value) => frame.bottom - ys.place(value) * (frame.bottom - frame.top);
	const line = (x1, y1, x2, y2, more) => svg("line", { x1, y1, x2, y2, stroke: "var(--grid)", ...more });
	const text = (at, down, anchor, words, more) =>
		svg("text", { x: at, y: down, "text-anchor": anchor, class: "muted", ...more }, words);
	const picture = svg("svg", { width, height: SCATTER_HEIGHT, role: "img", "aria-label": chart.label });
	for (const tick of xs.ticks)
		picture.append(line(x(tick), frame.top, x(tick), frame.bottom),
			text(x(tick), frame.bottom + 17, "middle", chart.xText(tick)));
	for (const tick of ys.ticks)
		picture.append(line(frame.left, y(tick), frame.right, y(tick)),
			text(frame.left - 8, y(tick) + 4, "end", chart.yText(tick)));
	picture.append(text((frame.left + frame.right) / 2, SCATTER_HEIGHT - 6, "middle",
		chart.xTitle + (xs.log ? " (log scale)" : "") + " – less is better"));
	const occupied = [];
	if (chart.floor) {
		const level = y(chart.floor.y);
		picture.append(line(frame.left, level, frame.right, level, { stroke: "var(--muted)", "stroke-dasharray": "4 4" }),
			text(frame.left + 5, level - 5, "start", chart.floor.text));
		occupied.push([frame.left, level - 17, frame.left + chart.floor.text.length * 7, level + 2]);
	}
	const points = chart.points.map((point) => ({ ...point, x: x(point.x), y: y(point.y), figures: point }));
	const labels = placeLabels(points, frame, occupied);
	points.forEach((point, i) => {
		const paint = `var(${styleOf(point.name).color})`;
		picture.append(svg("g", { "data-engine": point.name },
			svg("path", { d: shapePath(styleOf(point.name).shape, point.x, point.y, 6.5), fill: paint },
				svg("title", {}, `${point.name}: ${chart.xText(point.figures.x)}, ${chart.yText(point.figures.y)}`)),
			svg("text", { x: labels[i].x, y: labels[i].y, "text-anchor": labels[i].anchor }, point.name)));
	});
	return picture;
}

function scatterChart(chart) {
	const box = el("div", { class: "chart", "data-chart": chart.name });
	const draw = () => {
		const points = chart.points.filter((point) => !hidden.has(point.name));
		if (points.length)
			box.replaceChildren(scatterPicture({ ...chart, points }, widthOf(box)));
		else
			box.replaceChildren(el("p", { class: "note" }, "No engine is shown."));
		box.dataset.drawn = points.length;
	};
	whenPlaced(box, () => {
		draw();
		onRedraw(box, draw);
		onResize(box, draw);
	});
	return box;
}

function scatterPoints(engines, xPath, yPath) {
	return engineNames(engines).map((name) => ({ name, x: pick(engines[name], xPath), y: pick(engines[name], yPath) }))
		.filter((point) => point.x > 0 && point.y > 0);
}

function scatterCard(trace) {
	const points = scatterPoints(trace.engines, "ns_per_op", "slab_bytes.at_live_peak");
	return el("section", { class: "card" }, el("h3", {}, "Time against memory"),
		el("p", { class: "note" }, "Mean time of an operation against slab bytes at the live peak. ",
			"The lower left is best: quick and small."),
		points.length ? scatterChart({
			name: "scatter", label: `Time per operation against slab bytes of each engine in ${trace.path}`, points,
			xTitle: "time per operation", yTitle: "slab bytes", xText: nanoseconds, yText: byteTick,
			floor: trace.live_peak_bytes > 0 ?
				{ y: trace.live_peak_bytes, text: `live bytes ${bytes(trace.live_peak_bytes)}` } : null,
		}) : el("p", { class: "note" }, "No times were measured."));
}
