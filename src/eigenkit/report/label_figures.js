// Figures of labels: curves, counts, confusions, what occurs together.

// A curve of one label: sensitivity against false alarms, or precision against recall.
function curvePoints(curve) {
  const x = checked("curve") === "precision" ? run.recall : [0, ...run.false_positive_rate];
  const y = checked("curve") === "precision" ? curve.precision : [0, ...curve.true_positive_rate];
  return { x, y };
}

const area = (m, curve) => {
  if (checked("curve") !== "precision") return curve.auc;
  const found = (m.labels || []).find((s) => s.label === curve.label);
  return found ? found.average_precision : null;
};

function roc(c) {
  const view = find("roc-view").value, which = Number(view.slice(1)), place = find("plot-roc");
  const small = document.getElementById("small-curves");
  if (small) small.remove();
  if (view[0] === "s") return smallCurves(c, run.methods[which], place);
  place.hidden = false;
  const m = run.methods[which], entries = view[0] === "l"
    ? methods.map((k) => ({ curve: k.roc.find((r) => r.label === which), name: methodName(k), k: k.index, m: k })).filter((e) => e.curve)
    : m.roc.map((curve, i) => ({ curve, name: labelName(curve.label), k: i, m }));
  let curves = entries.filter((e) => curvePoints(e.curve).y.length > 1).sort((a, b) => area(b.m, b.curve) - area(a.m, a.curve));
  if (view[0] === "h") curves = [...curves.slice(0, 4), ...curves.slice(-4)].map((e, k) => ({ ...e, k }));
  const precise = checked("curve") === "precision", words = precise ? "average precision" : "AUC";
  const traces = curves.map((e) => {
    const { x, y } = curvePoints(e.curve), value = area(e.m, e.curve);
    return {
      type: "scatter", mode: "lines", name: `${e.name}, ${round(value)}`, x, y, hoverinfo: "text",
      hovertext: x.map((v, i) => `<b>${e.name}</b><br>${words} ${round(value)}<br>${round(v, 2)} → ${round(y[i], 2)}`),
      line: { color: c.series[e.k % 8], width: 2.2, dash: view[0] === "h" && curves.indexOf(e) >= 4 ? "dash" : DASHES[Math.floor(e.k / 8) % 6] },
    };
  });
  const level = view[0] === "l" ? share(which) : null, chance = precise ? (level === null ? null : [level, level]) : [0, 1];
  if (chance) traces.unshift({ type: "scatter", mode: "lines", x: [0, 1], y: chance, hoverinfo: "skip", showlegend: false,
    line: { color: c.rest, width: 1, dash: "dot" } });
  const wide = !narrow(), what = view[0] === "l" ? "method" : run.data.kind === "classes" ? "class" : "label";
  const title = `${what}, ${words}` + (view[0] === "h" ? "<br>dashed: hardest" : "");
  return draw("roc", traces, layout(c, {
    width: Math.min(place.clientWidth, 820), margin: { l: 8, r: 8, t: 32, b: 44 },
    height: wide ? 560 : 400 + 22 * traces.length, showlegend: true, hovermode: "closest",
    legend: wide ? { x: 1.02, y: 1, font: { color: c.ink, size: 12 }, title: { text: title } }
      : { orientation: "h", y: -0.25, font: { color: c.ink, size: 11 } },
    xaxis: axis(c, { title: titled(c, precise ? "recall" : "false positive rate"), range: [-0.01, 1.01], constrain: "domain" }),
    yaxis: axis(c, { title: titled(c, precise ? "precision" : "true positive rate"), range: [-0.01, 1.02], scaleanchor: wide ? "x" : undefined, constrain: "domain" }),
  }));
}

// One small picture for every label, the hardest first.
function smallCurves(c, m, place) {
  const grid = document.createElement("div"), known = m.roc.filter((r) => curvePoints(r).y.length > 1);
  grid.id = "small-curves";
  grid.setAttribute("role", "img");
  grid.setAttribute("aria-label", "A small curve for every label, the hardest first; the numbers are in the table that follows.");
  known.sort((a, b) => area(m, a) - area(m, b)).forEach((curve) => {
    const { x, y } = curvePoints(curve), box = document.createElement("div"), word = document.createElement("p");
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS(svg.namespaceURI, "polyline");
    svg.setAttribute("viewBox", "-2 -2 104 104");
    line.setAttribute("points", x.map((v, i) => `${(100 * v).toFixed(1)},${(100 - 100 * y[i]).toFixed(1)}`).join(" "));
    svg.append(line);
    word.textContent = `${names.labels[curve.label]} ${round(area(m, curve))}`;
    box.append(svg, word);
    grid.append(box);
  });
  place.hidden = true;
  place.after(grid);
}

function confusion(c) {
  const m = methodOf("confusion-method"), shown = names.shown, at = new Map(run.data.shown.map((j, i) => [j, i]));
  const C = shown.map((a) => shown.map((b) => m.confusion[at.get(a)][at.get(b)])), total = C.map((row) => row.reduce((s, n) => s + n, 0));
  const z = C.map((row, i) => row.map((n) => (total[i] ? n / total[i] : 0))), few = shown.length <= 15, ticks = shown.map((_, i) => i);
  const told = C.map((row, i) => row.map((n, j) => `<b>${labelName(shown[i])}</b> predicted as <b>${labelName(shown[j])}</b><br>${whole(n)} of ${whole(total[i])} samples`));
  return draw("confusion", [{
    type: "heatmap", z, x: ticks, y: ticks, hovertext: told, hoverinfo: "text", zmin: 0, zmax: 1, xgap: 1, ygap: 1, colorscale: [[0, c.wash], [1, c.heat]],
    ...(few ? { text: C.map((row) => row.map((n) => (n ? whole(n) : ""))), texttemplate: "%{text}" } : {}),
    colorbar: { thickness: 10, outlinewidth: 0, tickformat: ".0%", tickfont: { color: c.soft }, len: 0.6 },
  }], square(c, "confusion", shown, "true class", "predicted class"));
}

// The layout of a heat map of labels by labels.
function square(c, key, shown, down, across) {
  const size = Math.min(800, 240 + 24 * shown.length), ticks = shown.map((_, i) => i), wide = !narrow(), place = find("plot-" + key);
  return layout(c, {
    height: size, width: Math.min(place.clientWidth, size + 160), margin: { l: 8, r: 8, t: 32, b: 8 },
    xaxis: axis(c, { tickvals: ticks, ticktext: shown.map(labelName), tickangle: -45, showticklabels: wide || shown.length <= 12, showgrid: false, constrain: "domain", ...(across ? { title: titled(c, across) } : {}) }),
    yaxis: axis(c, { tickvals: ticks, ticktext: shown.map(labelName), autorange: "reversed", showgrid: false, constrain: "domain", ...(down ? { title: titled(c, down) } : {}), ...(wide ? { scaleanchor: "x" } : {}) }),
  });
}

function counts(c) {
  const shown = [...run.data.shown].sort((a, b) => run.data.labels[a].count - run.data.labels[b].count);
  const numbers = shown.map((j) => run.data.labels[j].count);
  return draw("counts", [{
    type: "bar", orientation: "h", x: numbers, y: shown.map((_, i) => i), marker: { color: c.series[0] },
    text: numbers.map(whole), textposition: "outside", cliponaxis: false,
    textfont: { color: c.soft, size: 12 }, hoverinfo: "text",
    hovertext: shown.map((j, i) => `<b>${labelName(j)}</b><br>${whole(numbers[i])} samples, ${(100 * numbers[i] / run.data.n_samples).toFixed(1)} %`),
  }], layout(c, {
    height: 94 + 22 * shown.length, bargap: 0.35, margin: { l: 8, r: 56, t: 32, b: 30 },
    xaxis: axis(c, {}), yaxis: axis(c, { tickvals: shown.map((_, i) => i), ticktext: shown.map(labelName), ticklen: 4, tickcolor: c.paper, showgrid: false }),
  }));
}

function cooccurrence(c) {
  const order = names.clustered, shown = order.map((i) => run.data.shown[i]), ticks = shown.map((_, i) => i);
  const C = order.map((i) => order.map((j) => run.data.co_occurrence[i][j]));
  const z = C.map((row, i) => row.map((n, j) => (i === j || !C[i][i] ? null : n / C[i][i])));
  const told = C.map((row, i) => row.map((n, j) =>
    `<b>${labelName(shown[i])}</b> with <b>${labelName(shown[j])}</b><br>${whole(n)} of ${whole(C[i][i])} samples`));
  return draw("cooccurrence", [{
    type: "heatmap", z, x: ticks, y: ticks, text: told, hoverinfo: "text", xgap: 1, ygap: 1,
    zmin: 0, colorscale: [[0, c.wash], [1, c.heat]], hoverongaps: false,
    colorbar: { thickness: 10, outlinewidth: 0, tickformat: ".0%", tickfont: { color: c.soft }, len: 0.6 },
  }], square(c, "cooccurrence", shown));
}

function hypergraph(c) {
  const g = run.data.hypergraph, traces = [];
  const most = Math.max(...g.sets.map((s) => s.count)), place = new Map(g.labels.map((j, i) => [j, g.label_positions[i]]));
  // Lines in four widths: one trace each, as a line has one width.
  for (const step of [1, 2, 3, 4]) {
    const x = [], y = [];
    g.sets.forEach((s, i) => {
      if (Math.max(1, Math.ceil(4 * Math.sqrt(s.count / most))) !== step) return;
      s.labels.forEach((j) => {
        x.push(g.set_positions[i][0], place.get(j)[0], null);
        y.push(g.set_positions[i][1], place.get(j)[1], null);
      });
    });
    traces.push({ type: "scatter", mode: "lines", x, y, hoverinfo: "skip", line: { color: c.rest, width: step * 0.8 } });
  }
  traces.push({
    type: "scatter", mode: "markers", x: g.set_positions.map((p) => p[0]), y: g.set_positions.map((p) => p[1]),
    hoverinfo: "text", hovertext: g.sets.map((s) => `<b>${whole(s.count)} samples</b><br>${s.labels.map(labelName).join("<br>")}`),
    marker: { color: c.series[1], symbol: "diamond", size: g.sets.map((s) => 5 + 8 * Math.sqrt(s.count / most)) },
  });
  const largest = Math.max(...g.labels.map((j) => run.data.labels[j].count));
  traces.push({
    type: "scatter", mode: "markers+text", x: g.label_positions.map((p) => p[0]), y: g.label_positions.map((p) => p[1]),
    text: g.labels.map(labelName), textposition: "top center", textfont: { color: c.ink, size: 12 }, cliponaxis: false,
    hoverinfo: "text", hovertext: g.labels.map((j) => `<b>${labelName(j)}</b><br>${whole(run.data.labels[j].count)} samples`),
    marker: { color: c.series[0], size: g.labels.map((j) => 10 + 26 * Math.sqrt(run.data.labels[j].count / largest)), line: { color: c.paper, width: 2 } },
  });
  const hidden = { visible: false, range: [-0.08, 1.08] };
  return draw("hypergraph", traces, layout(c, {
    height: narrow() ? 380 : 560, hovermode: "closest", xaxis: hidden, yaxis: { ...hidden, range: [-0.06, 1.1] },
    margin: { l: 4, r: 4, t: 32, b: 4 },
  }));
}
