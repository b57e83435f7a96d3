// SPDX-License-Identifier: MIT
// map.js - the pages of each engine when most bytes are live: one cell per page, the same scale for all
"use strict";

const FREE_PAGE = 0xff;
const FULL_PAGE = 0xfe;
const CELL_SIZES = [12, 10, 8, 7, 6, 5, 4, 3, 2];
const MAP_HEIGHT = 340; // pixels; cells shrink until the largest map fits
const PAGE_BYTES = 4096;

function parsePages(map, name) {
	if (typeof map.live !== "string" || !/^([0-9a-f]{2})*$/i.test(map.live) || map.live.length !== 2 * map.pages)
		throw new Error(`the map of ${name} is not two digits a page`);
	return Uint8Array.from({ length: map.pages }, (_, i) => parseInt(map.live.substr(2 * i, 2), 16));
}

// The largest cell with which count cells fit; below the smallest one, several pages share a cell.
function layout(width, pages) {
	for (const cell of CELL_SIZES) {
		const columns = Math.floor(width / cell);
		if (Math.ceil(pages / columns) * cell <= MAP_HEIGHT)
			return { cell, columns, together: 1 };
	}
	const cell = CELL_SIZES[CELL_SIZES.length - 1];
	const columns = Math.floor(width / cell);
	return { cell, columns, together: Math.ceil(pages / (columns * Math.floor(MAP_HEIGHT / cell))) };
}

function parseColor(variable) {
	const hex = cssColor(variable).slice(1);
	return [0, 2, 4].map((at) => parseInt(hex.substr(at, 2), 16));
}

// 256 colours from "nothing live" to "full".
function ramp() {
	const stops = ["--fill-low", "--fill-middle", "--fill-high"].map(parseColor);
	return Array.from({ length: FULL_PAGE + 1 }, (_, level) => {
		const at = 2 * level / FULL_PAGE;
		const low = Math.min(1, Math.floor(at));
		const mixed = stops[low].map((part, i) => Math.round(part + (stops[low + 1][i] - part) * (at - low)));
		return `rgb(${mixed.join(",")})`;
	});
}

// Level of each cell: the mean over its pages in use, or free when none is.
function cellLevels(pages, together) {
	if (together === 1)
		return pages;
	return Uint8Array.from({ length: Math.ceil(pages.length / together) }, (_, i) => {
		const used = pages.subarray(i * together, (i + 1) * together).filter((level) => level !== FREE_PAGE);
		return used.length ? Math.round(total(Array.from(used)) / used.length) : FREE_PAGE;
	});
}

function paintMap(canvas, pages, grid, colors) {
	const levels = cellLevels(pages, grid.together);
	const rows = Math.max(1, Math.ceil(levels.length / grid.columns));
	const ratio = window.devicePixelRatio || 1;
	canvas.width = Math.round(grid.columns * grid.cell * ratio);
	canvas.height = Math.round(rows * grid.cell * ratio);
	canvas.style.width = `${grid.columns * grid.cell}px`;
	canvas.style.height = `${rows * grid.cell}px`;
	const context = canvas.getContext("2d");
	context.scale(ratio, ratio);
	const gap = grid.cell > 5 ? 1 : 0;
	context.strokeStyle = cssColor("--line");
	levels.forEach((level, i) => {
		const [x, y] = [i % grid.columns * grid.cell, Math.floor(i / grid.columns) * grid.cell];
		if (level === FREE_PAGE) // a faint frame, where there is room for one: after the last page there is nothing
			return gap && context.strokeRect(x + 0.5, y + 0.5, grid.cell - 2, grid.cell - 2);
		context.fillStyle = colors[level];
		context.fillRect(x, y, grid.cell - gap, grid.cell - gap);
	});
	countDrawn(canvas);
}

function mapText(pages) {
	const used = Array.from(pages.filter((level) => level !== FREE_PAGE));
	const mean = used.length ? total(used) / used.length / FULL_PAGE : 0;
	return { used: used.length, free: pages.length - used.length, mean };
}

function pageUnder(event, canvas, grid, pages) {
	const box = canvas.getBoundingClientRect();
	const column = Math.floor((event.clientX - box.left) / grid.cell);
	const cell = Math.floor((event.clientY - box.top) / grid.cell) * grid.columns + column;
	const first = cell * grid.together;
	if (column >= grid.columns || first >= pages.length)
		return "";
	const level = cellLevels(pages.subarray(first, first + grid.together), grid.together)[0];
	const state = level === FREE_PAGE ? "free" : `${percent(level / FULL_PAGE)} live`;
	return grid.together === 1 ? `page ${group(first)}: ${state}` :
		`pages ${group(first)} to ${group(Math.min(pages.length, first + grid.together) - 1)}: ${state}`;
}

function mapFigure(name, map) {
	const pages = parsePages(map, name);
	const cut = map.all_pages > map.pages;
	const { used, free, mean } = mapText(pages);
	const canvas = el("canvas", { role: "img", "data-chart": "map", "data-engine": name,
		"aria-label": `Pages of ${name}: ${used} in use, ${free} free, ${percent(mean)} live on average` });
	const figure = el("figure", {}, el("figcaption", {}, swatch(name), el("b", {}, name),
		el("span", { "data-key": "pages", "data-value": used },
			(cut ? `the first ${group(pages.length)} of ${group(map.all_pages)} pages, ` :
				`${group(used)} pages, ${bytes(used * PAGE_BYTES)}, `) + `${percent(mean)} live` +
			(free ? ` (${group(free)} free between them)` : ""))), canvas);
	return { figure, canvas, pages };
}

function scaleLegend(note) {
	return el("div", { class: "scale" }, el("span", {}, "live bytes of a page: 0" + NARROW + "%"),
		el("span", { class: "ramp" }), el("span", {}, "100" + NARROW + "%"),
		el("span", { class: "blank" }), el("span", {}, "free page"), note);
}

function mapsCard(trace) {
	const names = engineNames(trace.engines).filter((name) => trace.engines[name].map);
	const maps = names.map((name) => mapFigure(name, trace.engines[name].map));
	const grid = { cell: 0, columns: 0, together: 1 };
	const note = el("span", { class: "muted" });
	const place = el("div", { class: "maps" }, ...maps.map((map) => map.figure));
	const draw = () => {
		const width = Math.max(200, Math.floor(place.firstChild.clientWidth));
		Object.assign(grid, layout(width, Math.max(...maps.map((map) => map.pages.length))));
		note.textContent = grid.together === 1 ? "one cell is one page of 4 KiB, the same scale for all" :
			`one cell is ${grid.together} pages of 4 KiB, the same scale for all`;
		const colors = ramp();
		for (const map of maps)
			paintMap(map.canvas, map.pages, grid, colors);
	};
	if (maps.length)
		whenPlaced(place, () => {
			draw();
			onRedraw(place, draw);
			onResize(place, draw);
		});
	for (const map of maps)
		map.canvas.addEventListener("mousemove", (event) => {
			map.canvas.title = pageUnder(event, map.canvas, grid, map.pages);
		});
	return el("section", { class: "card" }, el("h3", {}, "Pages when most bytes are live"),
		el("p", { class: "note" }, "In address order, at the trace's live peak " +
			`(${bytes(trace.live_peak_bytes)} live). Few cells and blue ones are good: little memory, well used.`),
		scaleLegend(note), place);
}
