// SPDX-License-Identifier: MIT
// chart.js - curves by uPlot: one size, theme, legend and readout for all of them
"use strict";

const CHART_FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif";
const CHART_RIGHT = 16; // pixels right of the plot
const PRINT_WIDTH = 660;
const AXIS_SIZE = 74; // pixels left of the plot, the same for all so that charts stand in line

function axis(format, more) {
	return {
		font: CHART_FONT,
		size: 32,
		stroke: () => cssColor("--muted"),
		grid: { stroke: () => cssColor("--grid"), width: 1 },
		ticks: { stroke: () => cssColor("--line"), width: 1, size: 5 },
		values: (u, splits) => splits.map((value) => value === null ? "" : format(value)),
		...more,
	};
}

// 1, 2, 5, 10, 20, ... between min and max; only powers of ten when those would stand too close.
function decadeSplits(min, max, room) {
	const all = [];
	for (let power = Math.floor(Math.log10(min)); power <= Math.ceil(Math.log10(max)); power++)
		for (const step of [1, 2, 5])
			all.push(step * 10 ** power);
	const inside = all.filter((value) => value >= min * 0.999 && value <= max * 1.001);
	const decades = inside.filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9);
	return inside.length <= room || decades.length < 2 ? inside : decades;
}

// A nice step of bytes for a linear axis: 1, 2, 4, ... times a unit.
function byteIncrements() {
	return Array.from({ length: 50 }, (_, i) => 2 ** i);
}

function widthOf(box) {
	return document.documentElement.hasAttribute("data-print") ? PRINT_WIDTH : Math.max(240, Math.floor(box.clientWidth));
}

/*
 * chart: { name, label, height, data, series: [{ engine, dash, points, band }], scales, axes, xText, yText,
 *          hint: what the readout says while nothing is pointed at, below: more under the curves,
 *          solid: the legend shows no dashes, which mean something else here }
 * data[0] is x, data[i] belongs to series[i - 1]; y of a series that is not there is null.
 * Returns { box, set(data) }.
 */
function curveChart(chart) {
	const box = el("div", { class: "chart", role: "img", "aria-label": chart.label, "data-chart": chart.name });
	const readout = el("p", { class: "readout" });
	const names = [...new Set(chart.series.map((series) => series.engine))];
	const legend = engineLegend(names, chart.solid);
	let plot = null;

	const say = (u) => {
		const at = u.cursor.idx;
		const out = at === null || at === undefined;
		readout.textContent = out ? chart.hint || "" : chart.xText(u.data[0][at]);
		for (const name of names) {
			const texts = chart.series.map((series, i) => series.engine === name && !out && u.data[i + 1][at] !== null
				&& u.data[i + 1][at] !== undefined ? chart.yText(u.data[i + 1][at]) : "").filter(Boolean);
			legend.value(name, texts.join(" / "));
		}
	};
	const options = () => ({
		width: widthOf(box),
		height: chart.height,
		padding: [8, CHART_RIGHT, 0, 0],
		legend: { show: false },
		cursor: { y: false, points: { size: 7 }, drag: { x: true, y: false } },
		scales: chart.scales,
		axes: chart.axes(),
		series: [{}, ...chart.series.map(seriesOptions)],
		hooks: { draw: [(u) => countDrawn(u.ctx.canvas)], setCursor: [say] },
	});
	const draw = () => {
		if (!plot)
			return;
		chart.series.forEach((series, i) => {
			const show = !hidden.has(series.engine);
			if (plot.series[i + 1].show !== show)
				plot.setSeries(i + 1, { show });
		});
		if (plot.width !== widthOf(box))
			plot.setSize({ width: widthOf(box), height: chart.height });
		plot.redraw();
	};
	whenPlaced(box, () => {
		plot = new uPlot(options(), chart.data, box);
		say(plot);
		onRedraw(box, draw);
		onResize(box, draw);
	});
	return {
		box: el("div", {}, box, ...(chart.below || []), readout, legend.box),
		set(data) {
			chart.data = data;
			if (plot)
				plot.setData(data);
		},
	};
}

function seriesOptions(series) {
	const style = styleOf(series.engine);
	return {
		label: series.engine,
		stroke: () => colorOf(series.engine),
		fill: series.band ? () => cssColor("--grid") : undefined,
		width: series.engine === LIVE ? 1.5 : 2,
		dash: series.dash || style.dash,
		points: { show: Boolean(series.points), size: 6 },
		spanGaps: false,
	};
}

// Drawing needs the width of a place on the page: done when the page is put together.
const placements = [];

// In a frame of its own, and for another width only: drawing changes the height, and an observer that is at work
// when that happens makes an error of it.
function onResize(box, draw) {
	let width = widthOf(box);
	new ResizeObserver(() => requestAnimationFrame(() => {
		if (width === widthOf(box))
			return;
		width = widthOf(box);
		draw();
	})).observe(box);
}

function whenPlaced(box, draw) {
	placements.push([box, draw]);
}

function placeAll() {
	for (const [box, draw] of placements.splice(0)) {
		try {
			draw();
		} catch (error) {
			showError(`${box.getAttribute("aria-label")}: cannot be drawn: ${error.message}`, box);
		}
	}
}
