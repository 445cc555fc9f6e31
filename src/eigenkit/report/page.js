(function () {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const run = read("record"), names = read("names");
  const find = (id) => document.getElementById(id);
  const methods = names.order.map((i) => ({ ...run.methods[i], index: i }));

  // Plotly takes a few tags in its texts for markup, so text from data is escaped for it too.
  const plain = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const labelName = (j) => plain(names.labels[j]);
  const methodName = (m) => plain(names.methods[m.index]);
  const round = (x, digits = 3) => (x === null ? "–" : Number(x).toPrecision(digits));

  // -- look ---------------------------------------------------------------------------

  const SYMBOLS = ["circle", "diamond", "square", "cross", "x", "circle", "diamond", "square"];
  const MARKS = ["●", "◆", "■", "✚", "✖", "●", "◆", "■"];
  const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"];

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue("--" + name).trim();
    const keys = ["paper", "ink", "soft", "line", "wash", "accent", "rest", "heat"];
    const found = Object.fromEntries(keys.map((key) => [key, get(key)]));
    found.series = [0, 1, 2, 3, 4, 5, 6, 7].map((i) => get("c" + i));
    return found;
  }

  function axis(c, extra) {
    return {
      gridcolor: c.line, linecolor: c.line, zeroline: false, automargin: true,
      tickfont: { color: c.soft }, title: { font: { color: c.soft, size: 13 }, standoff: 12 },
      ...extra,
    };
  }

  const titled = (c, text) => ({ text, font: { color: c.soft, size: 13 }, standoff: 12 });

  function layout(c, extra) {
    return {
      paper_bgcolor: c.paper, plot_bgcolor: c.paper, margin: { l: 8, r: 8, t: 8, b: 40 },
      font: { family: "system-ui, sans-serif", size: 13, color: c.ink },
      hoverlabel: { bgcolor: c.wash, bordercolor: c.line, font: { color: c.ink, size: 13 }, align: "left" },
      legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, font: { color: c.ink } },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: c.rest, activecolor: c.soft },
      showlegend: false, ...extra,
    };
  }

  const BUTTONS = [["toImage", "zoom2d", "pan2d", "resetScale2d"]];
  const BUTTONS3 = [["toImage", "orbitRotation", "zoom3d", "resetCameraDefault3d"]];

  function draw(key, traces, shape, buttons = BUTTONS) {
    const place = find("plot-" + key);
    const config = {
      displaylogo: false, responsive: true, modeBarButtons: buttons, scrollZoom: false,
      toImageButtonOptions: { filename: "eigenkit-" + key, scale: 2 },
    };
    return Plotly.react(place, traces, shape, config);
  }

  const narrow = () => window.innerWidth < 600;
  const methodColour = (c, m) => c.series[m.index % c.series.length];
  const methodDash = (m) => DASHES[m.index % DASHES.length];
  const methodSymbol = (m) => (m.baseline ? ["circle-open", "diamond-open"][m.index % 2] : SYMBOLS[m.index % SYMBOLS.length]);

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
    return `<b>sample ${run.points.rows[i]}</b> (${part})<br>${carried.slice(0, 8).join("<br>") || "no label"}${more}`;
  }

  const checked = (name) => document.querySelector(`input[name=${name}]:checked`).value;

  function scatter(c) {
    const m = run.methods[Number(find("scatter-method").value)];
    const spots = m.model.coordinates, width = spots[0].length;
    document.querySelector("input[name=dimensions][value='3']").disabled = width < 3;
    const three = checked("dimensions") === "3" && width > 2, part = checked("part");
    const rows = spots.map((_, i) => i).filter((i) => part === "all" || run.points.held_out[i] === (part === "test"));
    const chosen = chosenLabels(), split = groups(chosen, rows), traces = [];
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
          marker: { color: colour, symbol, size: three ? size - 1.5 : size + 1,
            opacity: (weak ? 0.5 : 1) * (held ? 0.95 : 0.35), line: { width: 0 } },
        });
      }
    };
    add(split.rest, c.rest, "circle", "others", true);
    chosen.forEach((j) => {
      const k = slot(j);
      add(split.found.get(j), c.series[k], SYMBOLS[k], labelName(j), false);
    });
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
    const relative = checked("scale") === "first";
    const traces = shown.map((m) => {
      const raw = m.model.eigenvalues, values = relative ? raw.map((v) => v / (raw[0] || 1)) : raw, colour = methodColour(c, m);
      return {
        type: "scatter", mode: "lines+markers", name: methodName(m), x: values.map((_, i) => i + 1), y: values,
        hovertext: values.map((v, i) => `<b>${methodName(m)}</b><br>component ${i + 1}: ${round(raw[i], 4)}`),
        hoverinfo: "text", line: { color: colour, width: 2, dash: methodDash(m) },
        marker: { color: colour, size: 7, symbol: methodSymbol(m) },
      };
    });
    const whole = Math.max(...shown.map((m) => m.model.eigenvalues.length)) < 15;
    return draw("scree", traces, layout(c, {
      height: 360, showlegend: true,
      xaxis: axis(c, { title: titled(c, "component"), ...(whole ? { dtick: 1 } : {}) }),
      yaxis: axis(c, { title: titled(c, relative ? "eigenvalue / first eigenvalue" : "eigenvalue"), rangemode: "tozero" }),
      margin: { l: 8, r: 8, t: 40, b: 48 },
    }));
  }

  function alpha(c) {
    const traces = [];
    methods.filter((m) => m.alpha).forEach((m) => {
      const colour = methodColour(c, m), a = m.alpha;
      const times = a.alphas.map((value) => a.chosen.filter((v) => v === value).length);
      const x = a.alphas.map((value) => (value > 0 ? value : null));
      traces.push({
        type: "scatter", mode: "lines+markers", name: methodName(m), x, y: a.mean,
        hovertext: a.alphas.map((v, i) =>
          `<b>${methodName(m)}</b><br>alpha ${v}: ${round(a.mean[i], 4)} ± ${round(a.std[i], 2)}<br>chosen ${times[i]}x`),
        hoverinfo: "text", line: { color: colour, width: 2, dash: methodDash(m) },
        marker: { color: colour, opacity: 1, size: times.map((t) => (t ? 13 : 5)), symbol: methodSymbol(m) },
      });
    });
    const metric = names.metrics[run.protocol.alpha_score];
    return draw("alpha", traces, layout(c, {
      height: 360, showlegend: true,
      xaxis: axis(c, { type: "log", title: titled(c, "alpha"), exponentformat: "power", dtick: 1 }),
      yaxis: axis(c, { title: titled(c, metric ? metric.words : "score") }),
      margin: { l: 8, r: 8, t: 40, b: 48 },
    }));
  }

  function roc(c) {
    const view = find("roc-view").value, which = Number(view.slice(1)), grid = [0, ...run.false_positive_rate];
    const curves = view[0] === "m"
      ? run.methods[which].roc.map((curve, i) => ({ curve, name: labelName(curve.label), k: i }))
      : methods.map((m) => ({ curve: m.roc.find((r) => r.label === which), name: methodName(m), k: m.index }))
          .filter((entry) => entry.curve);
    const traces = curves.filter((entry) => entry.curve.true_positive_rate.length)
      .sort((a, b) => b.curve.auc - a.curve.auc).map((entry) => {
      const y = [0, ...entry.curve.true_positive_rate], few = curves.length <= 8;
      const name = `${entry.name}, ${round(entry.curve.auc)}`;
      return {
        type: "scatter", mode: "lines", name, x: grid, y, hoverinfo: "text",
        hovertext: grid.map((x, i) => `<b>${entry.name}</b><br>AUC ${round(entry.curve.auc)}<br>${round(x, 2)} → ${round(y[i], 2)}`),
        line: { color: c.series[entry.k % 8], width: few ? 2.5 : 1.6, dash: DASHES[Math.floor(entry.k / 8) % 6] },
      };
    });
    traces.unshift({ type: "scatter", mode: "lines", x: [0, 1], y: [0, 1], hoverinfo: "skip", showlegend: false,
      line: { color: c.rest, width: 1, dash: "dot" } });
    const wide = !narrow(), place = find("plot-roc");
    return draw("roc", traces, layout(c, {
      ...(wide ? { width: Math.min(place.clientWidth, 820) } : {}), margin: { l: 8, r: 8, t: 32, b: 44 },
      height: wide ? 560 : 380 + 22 * Math.min(traces.length, 16), showlegend: wide || traces.length <= 17, hovermode: "closest",
      legend: wide ? { x: 1.02, y: 1, font: { color: c.ink, size: 12 }, title: { text: "label, AUC".replace("label", view[0] === "m" ? "label" : "method") } }
        : { orientation: "h", y: -0.25, font: { color: c.ink, size: 11 } },
      xaxis: axis(c, { title: titled(c, "false positive rate"), range: [-0.01, 1.01], constrain: "domain" }),
      yaxis: axis(c, { title: titled(c, "true positive rate"), range: [-0.01, 1.02], scaleanchor: wide ? "x" : undefined, constrain: "domain" }),
    }));
  }

  function counts(c) {
    const shown = [...run.data.shown].sort((a, b) => run.data.labels[a].count - run.data.labels[b].count);
    const numbers = shown.map((j) => run.data.labels[j].count);
    return draw("counts", [{
      type: "bar", orientation: "h", x: numbers, y: shown.map((_, i) => i), marker: { color: c.series[0] },
      text: numbers.map((n) => n.toLocaleString("en")), textposition: "outside", cliponaxis: false,
      textfont: { color: c.soft, size: 12 }, hoverinfo: "text",
      hovertext: shown.map((j, i) => `<b>${labelName(j)}</b><br>${numbers[i].toLocaleString("en")} samples, ${(100 * numbers[i] / run.data.n_samples).toFixed(1)} %`),
    }], layout(c, {
      height: 94 + 22 * shown.length, bargap: 0.35, margin: { l: 8, r: 56, t: 32, b: 30 },
      xaxis: axis(c, {}), yaxis: axis(c, { tickvals: shown.map((_, i) => i), ticktext: shown.map(labelName), ticklen: 4, tickcolor: c.paper, showgrid: false }),
    }));
  }

  function cooccurrence(c) {
    const C = run.data.co_occurrence, shown = run.data.shown, ticks = shown.map((_, i) => i);
    const share = C.map((row, i) => row.map((n, j) => (i === j || !C[i][i] ? null : n / C[i][i])));
    const told = C.map((row, i) => row.map((n, j) =>
      `<b>${labelName(shown[i])}</b> with <b>${labelName(shown[j])}</b><br>${n.toLocaleString("en")} of ${C[i][i].toLocaleString("en")} samples`));
    const size = Math.min(800, 220 + 24 * shown.length), place = find("plot-cooccurrence");
    return draw("cooccurrence", [{
      type: "heatmap", z: share, x: ticks, y: ticks, text: told, hoverinfo: "text", xgap: 1, ygap: 1,
      zmin: 0, colorscale: [[0, c.wash], [1, c.heat]], hoverongaps: false,
      colorbar: { thickness: 10, outlinewidth: 0, tickformat: ".0%", tickfont: { color: c.soft }, len: 0.6 },
    }], layout(c, {
      height: size, ...(narrow() ? {} : { width: Math.min(place.clientWidth, size + 140) }), margin: { l: 8, r: 8, t: 32, b: 8 },
      xaxis: axis(c, { tickvals: ticks, ticktext: shown.map(labelName), tickangle: -45, showgrid: false, constrain: "domain" }),
      yaxis: axis(c, { tickvals: ticks, ticktext: shown.map(labelName), autorange: "reversed", showgrid: false, constrain: "domain", ...(narrow() ? {} : { scaleanchor: "x" }) }),
    }));
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
      hoverinfo: "text", hovertext: g.sets.map((s) => `<b>${s.count.toLocaleString("en")} samples</b><br>${s.labels.map(labelName).join("<br>")}`),
      marker: { color: c.series[1], symbol: "diamond", size: g.sets.map((s) => 5 + 8 * Math.sqrt(s.count / most)) },
    });
    const largest = Math.max(...g.labels.map((j) => run.data.labels[j].count));
    traces.push({
      type: "scatter", mode: "markers+text", x: g.label_positions.map((p) => p[0]), y: g.label_positions.map((p) => p[1]),
      text: g.labels.map(labelName), textposition: "top center", textfont: { color: c.ink, size: 12 }, cliponaxis: false,
      hoverinfo: "text", hovertext: g.labels.map((j) => `<b>${labelName(j)}</b><br>${run.data.labels[j].count.toLocaleString("en")} samples`),
      marker: { color: c.series[0], size: g.labels.map((j) => 10 + 26 * Math.sqrt(run.data.labels[j].count / largest)), line: { color: c.paper, width: 2 } },
    });
    const hidden = { visible: false, range: [-0.08, 1.08] };
    return draw("hypergraph", traces, layout(c, {
      height: narrow() ? 380 : 560, hovermode: "closest", xaxis: hidden, yaxis: { ...hidden, range: [-0.06, 1.1] },
      margin: { l: 4, r: 4, t: 32, b: 4 },
    }));
  }

  const FIGURES = { comparison, scatter, scree, alpha, roc, counts, cooccurrence, hypergraph };

  function drawOne(key) {
    const place = find("plot-" + key);
    if (!place) return;
    try {
      FIGURES[key](colours());
    } catch (error) {
      place.textContent = "This figure could not be drawn; its numbers are in the tables.";
      console.error(key, error);
    }
  }

  const drawAll = () => Object.keys(FIGURES).forEach(drawOne);

  // -- controls -----------------------------------------------------------------------

  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";

  function nameTheme() {
    find("theme").textContent = isDark() ? "Light" : "Dark";
    find("theme").setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  }

  function setTheme(theme) {
    if (theme) document.documentElement.dataset.theme = theme;
    else delete document.documentElement.dataset.theme;
    nameTheme();
    drawAll();
  }

  // To begin with, labels that the best method tells well and that not nearly all samples carry.
  function telling() {
    const n = run.data.n_samples, curves = (methods.find((m) => m.model && !m.baseline) || methods[0]).roc;
    const share = (j) => run.data.labels[j].count / n;
    const fair = curves.filter((r) => share(r.label) > 0.02 && share(r.label) < 0.5);
    const known = (fair.length ? fair : curves).slice().sort((a, b) => b.auc - a.auc).map((r) => r.label);
    return (known.length ? known : run.data.shown).slice(0, 3);
  }

  function startChips() {
    const boxes = [...document.querySelectorAll("#chips input")];
    const first = run.data.kind === "classes" ? run.data.shown.slice(0, 8) : telling();
    boxes.forEach((box) => { box.checked = first.includes(Number(box.value)); });
    paintChips();
    boxes.forEach((box) => box.addEventListener("change", () => { paintChips(); drawOne("scatter"); }));
  }

  function on(selector, key) {
    document.querySelectorAll(selector).forEach((field) => field.addEventListener("change", () => drawOne(key)));
  }

  function printing() {
    let before;
    window.addEventListener("beforeprint", () => {
      before = document.documentElement.dataset.theme;
      document.querySelectorAll("details").forEach((d) => { d.open = true; });
      setTheme("light");
    });
    window.addEventListener("afterprint", () => setTheme(before));
  }

  function save() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(run)], { type: "application/json" }));
    link.download = "run.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  function start() {
    document.querySelectorAll(".controls").forEach((part) => { part.hidden = false; });
    find("theme").hidden = false;
    find("theme").addEventListener("click", () => setTheme(isDark() ? "light" : "dark"));
    dark.addEventListener("change", () => setTheme(document.documentElement.dataset.theme));
    find("download").addEventListener("click", save);
    on("#metric", "comparison");
    on("#scatter-method, input[name=dimensions], input[name=part]", "scatter");
    on("#roc-view", "roc");
    on("input[name=scale]", "scree");
    startChips();
    nameTheme();
    printing();
    drawAll();
    document.documentElement.dataset.ready = "yes";
  }

  // The library is kept compressed; the policy of the page names the hash of what comes out.
  async function unpack() {
    const packed = Uint8Array.from(atob(find("plotly").textContent), (s) => s.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  unpack().then(start).catch((error) => {
    console.error(error);
    const notice = document.createElement("p");
    notice.className = "notice";
    notice.textContent = "The figures could not be drawn in this browser; every number is also in a table.";
    document.querySelector("main").prepend(notice);
  });
})();
