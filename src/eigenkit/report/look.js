// What all figures share: the record, names, colours and shapes.

const read = (id) => JSON.parse(document.getElementById(id).textContent);
const run = read("record"), names = read("names");
const methods = names.order.map((i) => ({ ...run.methods[i], index: i }));

// Plotly takes a few tags in its texts for markup, so text from data is escaped for it too.
const plain = (s) => String(s).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
const labelName = (j) => plain(names.labels[j]);
const methodName = (m) => plain(names.methods[m.index]);
// Rows are counted from 1; those of a test file by themselves.
const rowName = (i) => `row ${run.points.rows[i] + 1 - (run.points.held_out[i] ? run.protocol.test_begins || 0 : 0)}`;
const whole = (n) => n.toLocaleString("en");
const share = (j) => run.data.labels[j].count / run.data.n_samples;
const round = (x, digits = 3) => (x === null ? "–" : Math.abs(x) >= 10 ** digits && Math.abs(x) < 1e7 ? Number(x).toFixed() : Number(x).toPrecision(digits));

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
  // What is drawn is said by the label of its place and by the tables; its buttons stay reachable.
  return Plotly.react(place, traces, shape, config).then(() => {
    place.querySelectorAll(".main-svg, canvas").forEach((part) => part.setAttribute("aria-hidden", "true"));
  });
}

const narrow = () => window.innerWidth < 600;
const methodColour = (c, m) => c.series[m.index % c.series.length];
const methodDash = (m) => DASHES[m.index % DASHES.length];
const methodSymbol = (m) => (m.baseline ? ["circle-open", "diamond-open"][m.index % 2] : SYMBOLS[m.index % SYMBOLS.length]);
const checked = (name) => {
  const field = document.querySelector(`input[name=${name}]:checked`);
  return field ? field.value : "";
};
const methodOf = (id) => run.methods[Number(find(id).value)];

// Curves of methods against something, with a legend.
function lines(c, key, shown, points, x, y) {
  const traces = shown.map((m) => {
    const { x, y, told, sizes } = points(m), colour = methodColour(c, m);
    return {
      type: "scatter", mode: "lines+markers", name: methodName(m), x, y, hovertext: told, hoverinfo: "text",
      line: { color: colour, width: 2, dash: methodDash(m) },
      marker: { color: colour, opacity: 1, size: sizes || 7, symbol: methodSymbol(m) },
    };
  });
  return draw(key, traces, layout(c, {
    height: 360, showlegend: true, xaxis: axis(c, x), yaxis: axis(c, y), margin: { l: 8, r: 8, t: 40, b: 48 },
  }));
}
