// SPDX-License-Identifier: MIT
// curves.js - slab bytes, queue bytes and CPU slab bytes of every engine while the trace goes on
"use strict";

function curvesCard(trace) {
	const names = engineNames(trace.engines).filter((name) => trace.engines[name].curve);
	const state = { what: "slab_bytes", over: "time" };
	const xFormat = () => state.over === "time" ? seconds : (value) => group(value);
	const data = () => {
		const x = trace.curve[state.over];
		const live = state.what === "slab_bytes" ? trace.curve.live_bytes : x.map(() => null);
		return [x, live, ...names.map((name) => trace.engines[name].curve[state.what])];
	};
	const chart = curveChart({
		name: "curves", label: `Memory of each engine over ${trace.path}`, height: 360,
		hint: "Point at the curves to read them; drag to zoom, double-click to see all.",
		data: data(),
		series: [{ engine: LIVE, band: true }, ...names.map((engine) => ({ engine }))],
		scales: { x: { time: false }, y: { range: (u, min, max) => [0, Math.max(1, max * 1.05)] } },
		axes: () => [
			axis((value) => xFormat()(value), { space: 80 }),
			axis(byteTick, { size: AXIS_SIZE, incrs: byteIncrements() }),
		],
		xText: (value) => state.over === "time" ? `at ${seconds(value)}` : `operation ${group(value)}`,
		yText: bytes,
	});
	const change = (key) => (value) => {
		state[key] = value;
		chart.set(data());
	};
	return el("section", { class: "card" },
		el("div", { class: "head" },
			el("div", {}, el("h3", {}, "Memory over the trace"),
				el("p", { class: "note" }, "The grey area is what the program itself asked for and has not freed.")),
			el("div", { class: "controls" },
				choice("Show", [["slab_bytes", "slab bytes"], ["queue_bytes", "queue bytes"],
					["cpu_slab_bytes", "CPU slab bytes"]], change("what")),
				choice("Over", [["time", "time"], ["op", "operations"]], change("over")))),
		chart.box);
}
