// SPDX-License-Identifier: MIT
// compare_html_clicks.js - clicks at the page of `uslab compare --html`, as a script of that page; what
// is then seen is the JSON in an element of its own (tests/tools/compare_html_test.py)
const seen = {};
const trace0 = readData().traces[0];
const trace = document.querySelector("#trace-0");
const enginesOf = (what) => [...trace.querySelectorAll(what)].map((e) => e.dataset.engine);
const rows = () => enginesOf('[data-table="Time"] tbody tr');
const heads = [...trace.querySelectorAll('[data-table="Time"] thead tr:last-child th')];
seen.unsorted = rows();
heads[1].firstChild.click();
seen.up = [rows(), heads[1].getAttribute("aria-sort")];
heads[1].firstChild.click();
seen.down = [rows(), heads[1].getAttribute("aria-sort")];

const copyOf = (canvas) => {
    const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    copy.canvas.width = canvas.width;
    copy.canvas.height = canvas.height;
    copy.drawImage(canvas, 0, 0);
    return copy;
};
const paint = (chart) => {
    const canvas = trace.querySelector(`[data-chart="${chart}"] canvas`);
    const pixels = copyOf(canvas).getImageData(0, 0, canvas.width, canvas.height).data;
    const counts = {};
    paint.top = {}; // the highest row with that colour
    for (const name of rows()) {
        const hex = colorOf(name).slice(1);
        const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.substr(at, 2), 16));
        counts[name] = 0;
        for (let i = 0; i < pixels.length; i += 4)
            if (pixels[i + 3] > 200 && Math.abs(pixels[i] - r) + Math.abs(pixels[i + 1] - g) +
                    Math.abs(pixels[i + 2] - b) < 12) {
                counts[name]++;
                paint.top[name] ??= Math.floor(i / 4 / canvas.width);
            }
    }
    return counts;
};
// The colour in the middle of each page's cell, "" where nothing is painted.
const cells = () => {
    const found = {};
    const maps = trace0.engines;
    const most = Math.max(...Object.values(maps).map((engine) => engine.map.pages));
    for (const canvas of trace.querySelectorAll('[data-chart="map"]')) {
        const grid = layout(Math.floor(canvas.closest(".maps").firstChild.clientWidth), most);
        const copy = copyOf(canvas);
        const middle = (at) => at * grid.cell + (grid.cell >> 1) - (grid.cell > 4);
        const { pages } = maps[canvas.dataset.engine].map;
        found[canvas.dataset.engine] = Array.from({ length: pages }, (_, i) => {
            const [r, g, b, a] = copy.getImageData(middle(i % grid.columns),
                middle(Math.floor(i / grid.columns)), 1, 1).data;
            return a ? `rgb(${r},${g},${b})` : "";
        });
    }
    return { found, ramp: ramp() };
};
const marks = () => enginesOf('[data-chart="scatter"] g');
const later = async () => { for (let i = 0; i < 5; i++) await null; };  // uPlot draws in microtasks
const click = (chart, what) => {
    const card = trace.querySelector(`[data-chart="${chart}"]`).closest("section");
    card.querySelector(what).click();
    return later();
};
(async () => {
    seen.painted = { curves: paint("curves"), alloc: paint("latency-alloc"),
        free: paint("latency-free"), scaling: paint("scaling") };
    seen.cells = cells();
    const over = trace.querySelector('[data-chart="curves"] .u-over');
    const { right, top } = over.getBoundingClientRect();
    for (const type of ["mouseenter", "mousemove"])
        over.dispatchEvent(new MouseEvent(type,
            { clientX: right, clientY: top + 9, bubbles: true }));
    await later();
    seen.readout = over.closest("section").querySelector(".readout").textContent;
    const button = over.closest("section").querySelector('.legend [data-engine="slub"]');
    seen.pointed = button.querySelector(".value").textContent;
    seen.marks = marks();
    await click("curves", '[data-engine="slub"]');
    const buttons = [...document.querySelectorAll('button[data-engine="slub"]')];
    seen.without = { curves: paint("curves").slub, alloc: paint("latency-alloc").slub,
        marks: marks(), pressed: buttons.map((button) => button.ariaPressed) };
    await click("curves", '[data-engine="slub"]');
    seen.again = { curves: paint("curves").slub, marks: marks() };
    await click("curves", '[data-choice="queue_bytes"]');
    seen.queues = paint("curves");
    await click("curves", '[data-choice="cpu_slab_bytes"]');
    seen.cpuSlabs = paint("curves");
    await click("curves", '[data-choice="op"]');
    await click("latency-alloc", '[data-choice="tail"]');
    const scaling = trace.querySelector('[data-chart="scaling"]').closest("section");
    const choose = (what) => {
        scaling.querySelector(`[data-choice="${what}"]`).click();
        return later();
    };
    await choose("cpu_slab_bytes");
    seen.scalingCpuSlabs = paint("scaling");
    await choose("constant");
    seen.scalingConstant = paint("scaling");
    await choose("ns_per_op");
    seen.notMeasured = scaling.querySelector(".head + div").textContent;
    await choose("growing");
    seen.tail = paint("latency-alloc");
    seen.tailTop = paint.top.slub;
    seen.scalingTime = paint("scaling");
    seen.shares = shares([trace0.engines.slub.histogram.alloc]);
    seen.wide = document.documentElement.scrollWidth - window.innerWidth;
    window.dispatchEvent(new Event("beforeprint"));
    await later();
    seen.printed = [cssColor("--page"),
        trace.querySelector('[data-chart="curves"] canvas').clientWidth];
    window.dispatchEvent(new Event("afterprint"));
    seen.resources = performance.getEntriesByType("resource").map((entry) => entry.name);
    document.body.append(el("pre", { id: "seen" }, JSON.stringify(seen)));
})();
