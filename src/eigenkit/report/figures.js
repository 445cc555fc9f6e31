// Figures of methods: scores, differences, components, the projection.

// -- figures ------------------------------------------------------------------------

function comparison(c) {
  const key = find("metric").value, shown = methods.filter((m) => m.scores[key].mean !== null);
  const rows = shown.map((_, i) => shown.length - 1 - i);
  const traces = [], times = shown.map((m) => (m.model ? m.seconds.fit.mean : null)).filter((t) => t > 0);
  const [unit, scale] = Math.max(...times) < 1 ? ["ms", 1e3] : ["s", 1];
  const far = Math.max(...times) > 20 * Math.min(...times) ? { type: "log", exponentformat: "power", dtick: 1 } : { rangemode: "tozero" };
  shown.forEach((m, i) => {
    const score = m.scores[key], colour = methodColour(c, m), y = rows[i];
    const single = score.values.filter((v) => v !== null);
    const fit = m.seconds.fit ? m.seconds.fit.mean : null;
    const told = `<b>${methodName(m)}</b><br>${round(score.mean, 4)} ± ${round(score.std, 2)}`;
    traces.push({
      type: "scatter", mode: "markers", x: single, y: single.map(() => y - 0.22), hoverinfo: "x",
      marker: { color: colour, size: 5, opacity: 0.55 },
    });
    traces.push({
      type: "scatter", mode: "markers", x: [score.mean], y: [y], hovertext: [told], hoverinfo: "text",
      error_x: { type: "data", array: [score.std || 0], color: colour, thickness: 2, width: 5 },
      marker: { color: colour, size: 12, symbol: methodSymbol(m), line: { width: m.baseline ? 2 : 0, color: colour } },
    });
    if (!narrow()) traces.push({
      type: "scatter", mode: "markers", x: [fit > 0 && m.model ? scale * fit : null], y: [y], xaxis: "x2",
      hovertext: [`<b>${methodName(m)}</b><br>${round(fit)} s`], hoverinfo: "text",
      error_x: { type: "data", array: [scale * ((m.seconds.fit && m.seconds.fit.std) || 0)], color: colour, thickness: 1.5, width: 4 },
      marker: { color: colour, size: 9, symbol: methodSymbol(m) },
    });
  });
  const metric = names.metrics[key];
  return draw("comparison", traces, layout(c, {
    height: 130 + 44 * shown.length,
    yaxis: axis(c, { tickvals: rows, ticktext: shown.map(methodName), tickfont: { color: c.ink, size: 14 },
      range: [-0.7, shown.length - 0.4], fixedrange: true }),
    xaxis: axis(c, { domain: [0, narrow() ? 1 : 0.66], title: titled(c, plain(metric.words) + (metric.up ? "" : " (less is better)")) }),
    ...(narrow() ? {} : { xaxis2: axis(c, { domain: [0.74, 1], title: titled(c, "time to fit, " + unit), nticks: 4, ...far }) }),
    margin: { l: 8, r: 12, t: 32, b: 56 },
  }));
}

function chosenLabels() {
  return [...document.querySelectorAll("#chips input:checked")].map((box) => Number(box.value));
}

// Which of the chosen labels gives a sample its colour: the rarest that it carries.
function groups(chosen, rows) {
  const byRarity = [...chosen].sort((a, b) => run.data.labels[a].count - run.data.labels[b].count);
  const found = new Map(chosen.map((j) => [j, []]));
  const rest = [];
  rows.forEach((i) => {
    const carried = run.points.labels[i];
    const label = byRarity.find((j) => carried.includes(j));
    (label === undefined ? rest : found.get(label)).push(i);
  });
  return { found, rest };
}

function hover(i) {
  const carried = run.points.labels[i].map(labelName);
  const more = carried.length > 8 ? `<br>and ${carried.length - 8} more` : "";
  const part = run.points.held_out[i] ? "held out" : "training";
  return `<b>${rowName(i)}</b> (${part})<br>${carried.slice(0, 8).join("<br>") || "no label"}${more}`;
}

function scatter(c) {
  const m = methodOf("scatter-method");
  const spots = m.model.coordinates, width = spots[0].length;
  document.querySelector("input[name=dimensions][value='3']").disabled = width < 3;
  const three = checked("dimensions") === "3" && width > 2, part = checked("part");
  const rows = spots.map((_, i) => i).filter((i) => part === "all" || run.points.held_out[i] === (part === "test"));
  const chosen = chosenLabels(), split = groups(chosen, rows), traces = [], values = run.points.observed || [];
  const add = (inside, colour, symbol, name, weak) => {
    for (const held of [false, true]) {
      const ids = inside.filter((i) => run.points.held_out[i] === held);
      if (!ids.length) continue;
      const size = Math.max(3, 8 - Math.log10(rows.length));
      traces.push({
        type: three ? "scatter3d" : "scatter", mode: "markers", name,
        x: ids.map((i) => spots[i][0]), y: ids.map((i) => (width > 1 ? spots[i][1] : (i * 0.618034) % 1)),
        ...(three ? { z: ids.map((i) => spots[i][2]) } : {}),
        hovertext: ids.map(hover), hoverinfo: "text",
        marker: { ...(values.length ? { color: ids.map((i) => values[i][0]), colorscale: [[0, c.series[1]], [0.5, c.rest], [1, c.series[0]]] } : { color: colour }), symbol, size: three ? size - 1.5 : size + 1,
          opacity: (weak ? 0.5 : 1) * (held ? 0.95 : 0.35), line: { width: 0 } },
      });
    }
  };
  add(split.rest, c.rest, "circle", "others", !values.length);
  chosen.forEach((j) => {
    const k = slot(j);
    add(split.found.get(j), c.series[k], SYMBOLS[k], labelName(j), false);
  });
  if (!three && width > 1 && checked("arrows") === "yes") {
    const far = Math.max(...spots.map((p) => Math.max(Math.abs(p[0]), Math.abs(p[1]))));
    traces.push(...arrows(c, m.model.loadings, far, [0, 1]));
  }
  const name = (i) => titled(c, `component ${i}`), height = narrow() ? 380 : 560;
  const shape = three
    ? layout(c, { height: height + 40, margin: { l: 0, r: 0, t: 0, b: 0 }, uirevision: m.name + "3",
        scene: { xaxis: axis3(c, 1), yaxis: axis3(c, 2), zaxis: axis3(c, 3), bgcolor: c.paper } })
    : layout(c, { height, uirevision: m.name, hovermode: "closest",
        xaxis: axis(c, { title: name(1) }), yaxis: axis(c, width > 1 ? { title: name(2) } : { visible: false, range: [-0.5, 1.5] }),
        margin: { l: 8, r: 8, t: 32, b: 48 } });
  return draw("scatter", traces, shape, three ? BUTTONS3 : BUTTONS);
}

const axis3 = (c, i) => ({
  title: { text: `component ${i}`, font: { color: c.soft, size: 12 } }, tickfont: { color: c.soft, size: 10 },
  gridcolor: c.line, linecolor: c.line, zeroline: false, showbackground: false, nticks: 5,
});

// Every chosen label keeps its colour while others come and go.
const slots = new Map();
function slot(j) {
  if (!slots.has(j)) {
    const used = new Set([...slots.values()]);
    const free = [0, 1, 2, 3, 4, 5, 6, 7].find((k) => !used.has(k));
    slots.set(j, free === undefined ? slots.size % 8 : free);
  }
  return slots.get(j);
}

function paintChips() {
  const chosen = chosenLabels();
  [...slots.keys()].filter((j) => !chosen.includes(j)).forEach((j) => slots.delete(j));
  document.querySelectorAll("#chips input").forEach((box) => {
    const span = box.nextElementSibling;
    if (!box.checked) return;
    const k = slot(Number(box.value));
    span.style.setProperty("--chip", `var(--c${k})`);
    span.style.setProperty("--mark", `"${MARKS[k]}"`);
  });
}

function scree(c) {
  const shown = methods.filter((m) => m.model && m.model.eigenvalues.length);
  const relative = checked("scale") === "first", few = Math.max(...shown.map((m) => m.model.eigenvalues.length)) < 15;
  return lines(c, "scree", shown, (m) => {
    const raw = m.model.eigenvalues;
    return {
      x: raw.map((_, i) => i + 1), y: relative ? raw.map((v) => v / (raw[0] || 1)) : raw,
      told: raw.map((v, i) => `<b>${methodName(m)}</b><br>component ${i + 1}: ${round(v, 4)}`),
    };
  }, { title: titled(c, "component"), ...(few ? { dtick: 1 } : {}) },
  { title: titled(c, relative ? "eigenvalue / first eigenvalue" : "eigenvalue"), rangemode: "tozero" });
}

function alpha(c) {
  const metric = names.metrics[run.protocol.alpha_score];
  return lines(c, "alpha", methods.filter((m) => m.alpha), (m) => {
    const a = m.alpha, times = a.alphas.map((value) => a.chosen.filter((v) => v === value).length);
    return {
      x: a.alphas.map((value) => (value > 0 ? value : null)), y: a.mean, sizes: times.map((t) => (t ? 13 : 5)),
      told: a.alphas.map((v, i) =>
        `<b>${methodName(m)}</b><br>alpha ${v}: ${round(a.mean[i], 4)} ± ${round(a.std[i], 2)}<br>chosen ${times[i]}x`),
    };
  }, { type: "log", title: titled(c, "alpha"), exponentformat: "power", dtick: 1 },
  { title: titled(c, metric ? metric.words : "score") });
}

function components(c) {
  const shown = methods.filter((m) => m.by_components);
  const most = Math.max(...shown.map((m) => Math.max(...m.by_components.components)));
  return lines(c, "components", shown, (m) => {
    const b = m.by_components;
    return {
      x: b.components, y: b.mean,
      told: b.components.map((l, i) =>
        `<b>${methodName(m)}</b><br>${l} component${l > 1 ? "s" : ""}: ${round(b.mean[i], 4)} ± ${round(b.std[i], 2)}`),
    };
  }, { title: titled(c, "number of components"), ...(most > 30 ? { type: "log", dtick: "D2" } : most < 15 ? { dtick: 1 } : {}) },
  { title: titled(c, plain(names.metrics[names.main].words)) });
}

function differences(c) {
  const gaps = names.differences, rows = gaps.map((_, i) => gaps.length - 1 - i);
  const best = plain(names.methods[names.order[0]]);
  const traces = [{ type: "scatter", mode: "lines", x: [0, 0], y: [-0.7, gaps.length - 0.3], hoverinfo: "skip",
    line: { color: c.soft, width: 1, dash: "dot" } }];
  gaps.forEach((gap, i) => {
    const m = { ...run.methods[gap.method], index: gap.method }, colour = methodColour(c, m);
    traces.push({
      type: "scatter", mode: "markers", x: [gap.mean], y: [rows[i]], hoverinfo: "text",
      hovertext: [`<b>${methodName(m)}</b><br>${round(gap.mean)} (${round(gap.low)} to ${round(gap.high)})<br>${gap.clear ? "clear" : "may be chance"}`],
      error_x: { type: "data", symmetric: false, array: [gap.high - gap.mean], arrayminus: [gap.mean - gap.low], color: colour, thickness: 2, width: 5 },
      marker: { color: colour, size: 10, symbol: gap.clear ? "circle" : "circle-open", line: { width: 2, color: colour } },
    });
  });
  return draw("differences", traces, layout(c, {
    height: 110 + 34 * gaps.length, margin: { l: 8, r: 12, t: 24, b: 52 },
    yaxis: axis(c, { tickvals: rows, ticktext: gaps.map((g) => plain(names.methods[g.method])), tickfont: { color: c.ink, size: 14 },
      range: [-0.7, gaps.length - 0.3], fixedrange: true, showgrid: false }),
    xaxis: axis(c, { title: titled(c, narrow() ? "ahead by" : `${plain(names.metrics[names.main].words)}: ${best} is ahead by`) }),
  }));
}

// -- what a component separates ------------------------------------------------------

function diverging(c) {
  return [[0, c.series[1]], [0.5, c.paper], [1, c.series[0]]];
}

function separation(c) {
  const m = methodOf("circle-method"), order = names.separation[Number(find("circle-method").value)];
  const rows = order.map((i) => m.model.correlated[i]), R = m.model.label_correlations;
  const z = order.map((i) => R.map((row) => row[i])), ticks = rows.map((_, i) => i);
  const told = z.map((row, i) => row.map((r, k) => `<b>${labelName(rows[i])}</b><br>component ${k + 1}: ${round(r, 2)}`));
  return draw("separation", [{
    type: "heatmap", z, x: R.map((_, k) => k + 1), y: ticks, zmin: -1, zmax: 1, colorscale: diverging(c), hoverinfo: "text", text: told,
    xgap: 2, ygap: 1, showscale: rows.length > 5, colorbar: { thickness: 10, outlinewidth: 0, tickfont: { color: c.soft }, len: 0.8 },
  }], layout(c, {
    height: 110 + 22 * rows.length, margin: { l: 8, r: 8, t: 32, b: 48 },
    xaxis: axis(c, { title: titled(c, "component"), dtick: 1, showgrid: false }),
    yaxis: axis(c, { tickvals: ticks, ticktext: rows.map(labelName), autorange: "reversed", showgrid: false }),
  }));
}

// An arrow as a line with a head at its end.
function arrows(c, loadings, far, [i, j]) {
  const marks = loadings.map((f) => ({ x: f.correlations[i] * far, y: (f.correlations[j] || 0) * far, name: plain(f.name.slice(0, 28)), r: f.correlations }));
  const told = marks.map((k) => `<b>${k.name}</b><br>${round(k.r[i], 2)}, ${round(k.r[j] || 0, 2)}`);
  // Only the longest are named, and none beside a longer one on its side, or names lie on each other.
  const beside = (k, o) => k.x < 0 === o.x < 0 && Math.abs(k.y - o.y) < 0.06 * far && Math.abs(k.x - o.x) < 0.4 * far;
  const text = marks.map((k, n) => (n < 12 && !marks.slice(0, n).some((o) => beside(k, o)) ? k.name : ""));
  return [
    { type: "scatter", mode: "lines", hoverinfo: "skip", line: { color: c.soft, width: 1 }, x: marks.flatMap((k) => [0, k.x, null]), y: marks.flatMap((k) => [0, k.y, null]) },
    { type: "scatter", mode: "markers+text", x: marks.map((k) => k.x), y: marks.map((k) => k.y), text, hovertext: told, hoverinfo: "text", cliponaxis: false,
      textposition: marks.map((k) => (k.x < 0 ? "middle left" : "middle right")), textfont: { size: 11, color: c.ink }, marker: { color: c.soft, size: 5 } },
  ];
}

function circle(c) {
  const m = methodOf("circle-method"), R = m.model.label_correlations, turn = Array.from({ length: 91 }, (_, i) => (i * Math.PI) / 45);
  find("plot-circle").closest("figure").hidden = R.length < 2; // one component fills no plane
  if (R.length < 2) return;
  const labels = m.model.correlated, at = labels.map((_, k) => [R[0][k], R[1][k]]);
  const far = labels.map((_, k) => k).sort((a, b) => Math.hypot(...at[b]) - Math.hypot(...at[a])).slice(0, 12);
  const traces = [
    { type: "scatter", mode: "lines", x: turn.map(Math.cos), y: turn.map(Math.sin), hoverinfo: "skip", line: { color: c.rest, width: 1 } },
    ...arrows(c, m.model.loadings, 1, [0, 1]),
    { type: "scatter", mode: "markers+text", x: far.map((k) => at[k][0]), y: far.map((k) => at[k][1]), text: far.map((k) => labelName(labels[k])),
      textposition: "top center", textfont: { size: 12, color: c.series[0] }, hoverinfo: "text", cliponaxis: false,
      hovertext: far.map((k) => `<b>${labelName(labels[k])}</b><br>${round(at[k][0], 2)}, ${round(at[k][1], 2)}`), marker: { color: c.series[0], size: 9, symbol: "diamond" } },
  ];
  const wide = !narrow(), place = find("plot-circle"), range = [-1.25, 1.25];
  return draw("circle", traces, layout(c, {
    height: wide ? 620 : 400, width: Math.min(place.clientWidth, 760), margin: { l: 8, r: 8, t: 32, b: 44 }, hovermode: "closest",
    xaxis: axis(c, { title: titled(c, "component 1"), range, constrain: "domain" }),
    yaxis: axis(c, { title: titled(c, "component 2"), range, scaleanchor: "x", constrain: "domain" }),
  }));
}

// -- numbers ---------------------------------------------------------------------------

function responses(c) {
  const m = methodOf("response-method"), j = Number(find("response").value);
  const rows = m.predicted.map((_, i) => i).filter((i) => m.predicted[i][j] !== null);
  const y = rows.map((i) => run.points.observed[i][j]), p = rows.map((i) => m.predicted[i][j]);
  const left = y.map((v, i) => v - p[i]), told = rows.map((i, k) => `<b>${rowName(i)}</b><br>observed ${round(y[k], 4)}<br>predicted ${round(p[k], 4)}`);
  const ends = [Math.min(...y, ...p), Math.max(...y, ...p)], span = [Math.min(...p), Math.max(...p)];
  const marker = { color: c.series[0], size: rows.length > 800 ? 4 : 6, opacity: 0.65 }, wide = !narrow();
  const dots = (x, v, more) => ({ type: "scatter", mode: "markers", x, y: v, hovertext: told, hoverinfo: "text", marker, ...more });
  const line = (x, v, more) => ({ type: "scatter", mode: "lines", x, y: v, hoverinfo: "skip", line: { color: c.soft, width: 1, dash: "dot" }, ...more });
  const second = { xaxis: "x2", yaxis: "y2" };
  const [one, two] = wide ? [[0, 0.46], [0.56, 1]] : [[0, 1], [0, 1]];
  return draw("responses", [dots(y, p, {}), line(ends, ends, {}), dots(p, left, second), line(span, [0, 0], second)], layout(c, {
    height: wide ? 440 : 720, margin: { l: 8, r: 8, t: 32, b: 48 }, hovermode: "closest",
    xaxis: axis(c, { title: titled(c, "observed"), domain: one, anchor: "y" }), yaxis: axis(c, { title: titled(c, "predicted"), domain: wide ? [0, 1] : [0.58, 1], anchor: "x" }),
    xaxis2: axis(c, { title: titled(c, "predicted"), domain: two, anchor: "y2" }), yaxis2: axis(c, { title: titled(c, "observed - predicted"), domain: wide ? [0, 1] : [0, 0.42], anchor: "x2" }),
  }));
}
