// SPDX-License-Identifier: MIT
// base.js - what all parts of the page share: elements, units, colours, engines, messages
"use strict";

// ---- messages: an error is seen, on the page too

function showError(text, place) {
	const box = place || document.getElementById("errors");
	box.append(el("p", { class: "error" }, text));
	document.documentElement.dataset.errors = Number(document.documentElement.dataset.errors || 0) + 1;
}

window.addEventListener("error", (event) => showError("Error in this page: " + event.message));
window.addEventListener("unhandledrejection", (event) => showError("Error in this page: " + event.reason));

// ---- elements

function fill(node, attributes, children) {
	for (const [name, value] of Object.entries(attributes || {}))
		if (value !== null && value !== undefined && value !== false)
			node.setAttribute(name, value === true ? "" : value);
	node.append(...children.filter((child) => child !== null && child !== undefined));
	return node;
}

function el(tag, attributes, ...children) {
	return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes, ...children) {
	return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

// A row of buttons of which one is pressed; choose(value) is called with the new one.
function choice(label, options, choose) {
	const box = el("div", { class: "choice", role: "group", "aria-label": label });
	options.forEach(([value, text], number) => {
		const button = el("button", { type: "button", "data-choice": value, "aria-pressed": number === 0 },
			text);
		button.setAttribute("aria-pressed", String(number === 0));
		button.addEventListener("click", () => {
			for (const other of box.children)
				other.setAttribute("aria-pressed", String(other === button));
			choose(value);
		});
		box.append(button);
	});
	return box;
}

// ---- numbers with units

const NARROW = "\u202f"; // a space that does not break, between groups of digits and before units
const KIB = 1024;

function number(value) {
	return typeof value === "number" && Number.isFinite(value);
}

function group(value, digits) {
	const [whole, part] = value.toFixed(digits || 0).split(".");
	const grouped = whole.replace(/\B(?=(\d{3})+$)/g, NARROW);
	return part ? grouped + "." + part : grouped;
}

// Three digits that say something: 0.0341, 1.23, 45.6, 789, 12 345.
function significant(value) {
	const size = Math.abs(value);
	if (size >= 100 || size === 0)
		return group(value);
	return value.toFixed(size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4);
}

function trimmed(text) {
	return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function scaled(value, step, units, format) {
	if (value === 0)
		return "0" + NARROW + units[0];
	let unit = 0;
	while (Math.abs(value) >= step * 0.9995 && unit < units.length - 1) {
		value /= step;
		unit++;
	}
	return format(value) + NARROW + units[unit];
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const TIME_UNITS = ["ns", "µs", "ms", "s"];

function bytes(value) {
	return number(value) ? scaled(value, KIB, BYTE_UNITS, (v) => Number.isInteger(v) ? group(v) : significant(v)) : "–";
}

// For axes, whose steps are powers of two: 1.5 MiB, 1.125 MiB.
function byteTick(value) {
	return scaled(value, KIB, BYTE_UNITS, (v) => Number.isInteger(v) ? group(v) : trimmed(v.toFixed(v < 10 ? 3 : 1)));
}

function nanoseconds(value) {
	return number(value) ? scaled(value, 1000, TIME_UNITS, (v) => trimmed(significant(v))) : "–";
}

function seconds(value) {
	return nanoseconds(value * 1e9);
}

function percent(share) {
	return trimmed((100 * share).toFixed(share > 0 && share < 0.001 ? 3 : share < 0.1 ? 2 : 1)) + NARROW + "%";
}

// ---- engines: name, colour and dash are one and the same on the whole page

const ENGINES = {
	"slob:1991": { color: "--slob-1991", dash: [6, 3], shape: "diamond" },
	"slob": { color: "--slob", dash: [], shape: "square" },
	"slobseg:pow2": { color: "--slobseg-pow2", dash: [6, 3], shape: "triangle" },
	"slobseg": { color: "--slobseg", dash: [], shape: "down" },
	"slab": { color: "--slab", dash: [], shape: "circle" },
	"slub": { color: "--slub", dash: [], shape: "cross" },
	"slub:6.18": { color: "--slub-618", dash: [6, 3], shape: "cross" },
	"slub:7.0": { color: "--slub-70", dash: [8, 2, 2, 2], shape: "cross" },
	"slub+array": { color: "--slub-array", dash: [2, 2], shape: "plus" },
	"slob+array": { color: "--slob-array", dash: [2, 2], shape: "star" },
};
const UNKNOWN_ENGINE = { color: "--muted", dash: [8, 2, 2, 2], shape: "circle" };
const LIVE = "live bytes";

function styleOf(name) {
	return name === LIVE ? { color: "--text", dash: [], shape: "circle" } : ENGINES[name] || UNKNOWN_ENGINE;
}

function cssColor(variable) {
	return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

function colorOf(name) {
	return cssColor(styleOf(name).color);
}

// Known engines in their order, then the others as they come.
function engineNames(engines) {
	const known = Object.keys(ENGINES).filter((name) => name in engines);
	return known.concat(Object.keys(engines).filter((name) => !(name in ENGINES)));
}

// The mark of an engine, around (x, y): a path.
function shapePath(shape, x, y, r) {
	const points = (list) => "M" + list.map(([dx, dy]) => `${x + dx * r},${y + dy * r}`).join("L") + "Z";
	const t = 0.36;
	switch (shape) {
	case "square": return points([[-0.85, -0.85], [0.85, -0.85], [0.85, 0.85], [-0.85, 0.85]]);
	case "diamond": return points([[0, -1.2], [1.2, 0], [0, 1.2], [-1.2, 0]]);
	case "triangle": return points([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]);
	case "down": return points([[0, 1.15], [1.1, -0.85], [-1.1, -0.85]]);
	case "plus": return points([[-t, -1.1], [t, -1.1], [t, -t], [1.1, -t], [1.1, t], [t, t], [t, 1.1], [-t, 1.1],
		[-t, t], [-1.1, t], [-1.1, -t], [-t, -t]]);
	case "cross": return points([[-1.1, -0.6], [-0.6, -1.1], [0, -0.5], [0.6, -1.1], [1.1, -0.6], [0.5, 0],
		[1.1, 0.6], [0.6, 1.1], [0, 0.5], [-0.6, 1.1], [-1.1, 0.6], [-0.5, 0]]);
	case "star": return points(Array.from({ length: 10 }, (_, i) => {
		const size = i % 2 ? 0.55 : 1.3;
		return [size * Math.sin(i * Math.PI / 5), -size * Math.cos(i * Math.PI / 5)];
	}));
	default: return `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`;
	}
}

// A short piece of an engine's line, as the charts draw it or without gaps.
function swatch(name, solid) {
	const style = styleOf(name);
	const paint = `var(${style.color})`;
	const picture = svg("svg", { class: "swatch", width: 26, height: 12, "aria-hidden": "true" });
	picture.append(svg("line", { x1: 1, x2: 25, y1: 6, y2: 6, stroke: paint, "stroke-width": 2.5,
		"stroke-dasharray": solid ? null : style.dash.join(" ") || null }));
	return picture;
}

// ---- what has to be drawn anew: other colours, another width, engines switched on or off

let redraws = []; // [place, function] of the drawings on this page
const hidden = new Set(); // engines that no drawing shows now

function onRedraw(place, draw) {
	redraws.push([place, draw]);
}

function redrawAll() {
	redraws = redraws.filter(([place]) => place.isConnected);
	for (const [, draw] of redraws)
		draw();
}

function toggleEngine(name) {
	if (!hidden.delete(name))
		hidden.add(name);
	redrawAll();
}

// Buttons that switch engines on and off, on the whole page; value(name, text) fills a readout.
function engineLegend(names, solid) {
	const box = el("div", { class: "legend", role: "group", "aria-label": "Engines shown" });
	const values = {};
	const buttons = names.map((name) => {
		values[name] = el("span", { class: "value" });
		const button = el("button", { type: "button", "data-engine": name, title: "show or hide" },
			swatch(name, solid), el("span", {}, name), values[name]);
		button.addEventListener("click", () => toggleEngine(name));
		box.append(button);
		return button;
	});
	const update = () => buttons.forEach((button, i) =>
		button.setAttribute("aria-pressed", String(!hidden.has(names[i]))));
	onRedraw(box, update);
	update();
	return { box, value: (name, text) => { values[name].textContent = text; } };
}

// Says on a canvas how many of its pixels are painted, read back from the picture itself: that is what
// tests (and people who wonder) look at. The copy is for browsers that warn of reading from the original.
const scratch = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

function countDrawn(canvas) {
	if (canvas.dataset.drawn > 0 || !canvas.width || !canvas.height)
		return;
	scratch.canvas.width = canvas.width;
	scratch.canvas.height = canvas.height;
	scratch.drawImage(canvas, 0, 0);
	const pixels = scratch.getImageData(0, 0, canvas.width, canvas.height).data;
	let drawn = 0;
	for (let i = 3; i < pixels.length; i += 4)
		drawn += pixels[i] > 0;
	canvas.dataset.drawn = drawn;
}
