// Sets, their terms and reasons, and the controls that choose among them.

const run = JSON.parse(document.getElementById("record").textContent);
const PAGE = 24;
const KINDS = { all: "all sets", wrong: "any error", missed: "missed terms", extra: "extra terms", clean: "no error", unknown: "without given terms" };
const ORDERS = { name: "name", worst: "most errors first", sure: "most certain first", unsure: "least certain first" };

// Text goes into the page as text, never as markup.
function make(tag, options, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(options || {})) {
    if (key === "text") element.textContent = value;
    else if (key === "class") element.className = value;
    else element.setAttribute(key, value);
  }
  element.append(...children);
  return element;
}
const percent = (p) => (p === null ? "–" : Math.round(100 * p) + " %");
const termName = (j) => run.terms[j].name;

// -- what happened to each set ------------------------------------------------------

const sets = run.sets.map((set, index) => {
  const given = set.given === null ? null : new Set(set.given);
  const chosen = set.scores.filter((s) => s[2]).map((s) => s[0]);
  const missed = given ? set.given.filter((j) => !chosen.includes(j)) : [];
  const extra = given ? chosen.filter((j) => !given.has(j)) : [];
  const names = [...chosen, ...(set.given || [])].map(termName);
  return {
    ...set, index, given, chosen: new Set(chosen), missed, extra,
    errors: missed.length + extra.length,
    sure: Math.max(0, ...set.scores.map((s) => s[1] || 0)),
    text: [set.name, ...names].join("\n").toLowerCase(),
  };
});
function kindOf(set, j) {
  if (!set.given) return set.chosen.has(j) ? "free" : "";
  if (set.chosen.has(j)) return set.given.has(j) ? "right" : "extra";
  return set.given.has(j) ? "missed" : "";
}
const TITLES = { right: "correct", missed: "missed", extra: "extra", free: "predicted" };

// -- the list -----------------------------------------------------------------------

let shown = sets, first = 0, current = -1;

// With a term, every choice is about it: right, missed and extra ones are all that are listed.
function wanted(set, term, kind) {
  if (term !== "" && !set.chosen.has(term) && !(set.given && set.given.has(term))) return false;
  const any = (terms) => (term === "" ? terms.length > 0 : terms.includes(term));
  const missed = any(set.missed), extra = any(set.extra), wrong = missed || extra;
  return { all: true, unknown: !set.given, missed, extra, wrong, clean: set.given !== null && !wrong }[kind];
}

function filter() {
  const words = find("search").value.trim().toLowerCase().split(/\s+/);
  const term = find("term").value === "" ? "" : Number(find("term").value);
  const kind = find("error").value, order = find("order").value;
  shown = sets.filter((s) => words.every((word) => s.text.includes(word)) && wanted(s, term, kind));
  if (order === "worst") shown.sort((a, b) => b.errors - a.errors || a.index - b.index);
  if (order === "sure") shown.sort((a, b) => b.sure - a.sure || a.index - b.index);
  if (order === "unsure") shown.sort((a, b) => a.sure - b.sure || a.index - b.index);
  first = 0; current = -1;
  draw();
}

function tags(set) {
  const list = make("ul", { class: "tags" });
  for (const [j, p] of set.scores) {
    const kind = kindOf(set, j);
    if (!kind) continue;
    list.append(make("li", { class: kind, title: TITLES[kind] },
      termName(j) + " ", make("small", { text: (kind === "missed" || kind === "extra" ? kind + ", " : "") + percent(p) })));
  }
  if (!list.children.length) list.append(make("li", { class: "free", text: "no term" }));
  return list;
}

function card(set, position) {
  const open = make("button", { type: "button", text: set.name, "data-position": position });
  open.addEventListener("click", () => detail(set));
  const thumbs = make("div", { class: "thumbs" });
  for (const [name, view, source] of set.pictures) {
    thumbs.append(make("img", { src: source, alt: view ? view + ": " + name : name, decoding: "async" }));
  }
  if (set.more) thumbs.append(make("small", { class: "note", text: "and " + set.more + " more" }));
  return make("article", { class: "card" }, make("h3", {}, open), thumbs, tags(set));
}

function draw() {
  find("list").replaceChildren(...shown.slice(first, first + PAGE).map((s, i) => card(s, first + i)));
  const last = Math.min(first + PAGE, shown.length);
  find("count").textContent = shown.length === sets.length
    ? sets.length + " sets" : shown.length + " of " + sets.length + " sets";
  find("where").textContent = shown.length ? first + 1 + " to " + last + " of " + shown.length : "none";
  find("pager").hidden = shown.length <= PAGE;
  find("previous").disabled = first === 0;
  find("next").disabled = last >= shown.length;
}

function turn(by) {
  const to = first + by * PAGE;
  if (to < 0 || to >= shown.length) return;
  first = to; current = first - 1;
  draw();
  find("sets").tabIndex = -1;
  find("sets").focus(); // what had the focus is gone or disabled
  find("sets").scrollIntoView();
}

function step(by) {
  const to = Math.min(Math.max(current + by, 0), shown.length - 1);
  if (to < 0) return;
  current = to;
  if (current < first || current >= first + PAGE) { first = Math.floor(current / PAGE) * PAGE; draw(); }
  const button = document.querySelector('[data-position="' + current + '"]');
  button.focus();
  button.scrollIntoView({ block: "nearest" });
}

// -- one set ------------------------------------------------------------------------

// How much the points of a picture speak for a term, spread over their patches: the ink of a point
// is its share, however large its patch is and however much of it lies outside.
function heat(pieces, grids, j, width, height) {
  const total = new Float32Array(width * height);
  for (const piece of pieces) {
    const grid = grids[piece.kernel];
    const reach = Math.max(2, grid.radius * width / grid.width);
    piece.shares[j].forEach((share, k) => {
      const x = grid.places[2 * k] / 1000 * width, y = grid.places[2 * k + 1] / 1000 * height;
      spread(total, share, bell(x, reach, width), bell(y, reach, height), width);
    });
  }
  return total;
}

// Along one side, a Gaussian around a place, with the sum one: where it begins, and its weights.
function bell(at, reach, side) {
  const start = Math.max(0, Math.floor(at - 2 * reach)), stop = Math.min(side, Math.ceil(at + 2 * reach));
  const weights = Array.from({ length: stop - start }, (_, i) => Math.exp(-(((start + i - at) / reach) ** 2)));
  const sum = weights.reduce((a, b) => a + b, 0);
  return { start, weights: weights.map((w) => w / sum) };
}

function spread(total, share, across, down, width) {
  down.weights.forEach((v, y) => {
    across.weights.forEach((w, x) => { total[(down.start + y) * width + across.start + x] += share * v * w; });
  });
}

function paint(canvas, total, most) {
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  total.forEach((value, i) => {
    const v = value / most;
    const colour = v > 0 ? [214, 70, 0] : [20, 90, 200];
    image.data.set([...colour, Math.round(190 * Math.min(1, Math.abs(v)))], 4 * i);
  });
  context.putImageData(image, 0, 0);
}

// The maps of all terms have one scale: what says little of a term stays pale.
function maps(evidence, views) {
  const terms = Object.keys(evidence[0].shares).map(Number), found = [];
  let most = 1e-9;
  for (const { img, over, i } of views) {
    const pieces = evidence.filter((e) => e.picture === i);
    if (!pieces.length) continue;
    const width = img.naturalWidth || 96, height = img.naturalHeight || 96;
    const totals = new Map(terms.map((j) => [j, heat(pieces, run.grids, j, width, height)]));
    for (const total of totals.values()) for (const v of total) most = Math.max(most, Math.abs(v));
    found.push({ over, width, height, totals });
  }
  return { terms, most, found };
}

function row(bars, label, share, kind, text) {
  const bar = make("i", {});
  bar.style.width = 100 * share + "%";
  bars.append(label, make("span", { class: kind }, bar), make("b", { text }));
}

const kernelName = (name) => (run.sees[name] ? run.sees[name] + " (" + name + ")" : name);

// What kernels add to the score of a term; of a training set, those that have evidence.
function parts(set, j) {
  const rows = set.parts[j] || [];
  if (!rows.length) return [];
  const most = Math.max(1e-9, ...rows.map(([, v]) => Math.abs(v)));
  const sum = rows.reduce((s, [, v]) => s + v, 0);
  const whole = rows.some(([name]) => name === "any set");
  const bars = make("div", { class: "bars" });
  for (const [name, v] of rows) {
    const mark = set.evidence.some((e) => e.kernel === name) ? ", drawn above" : "";
    row(bars, make("span", { text: kernelName(name) + mark }), Math.abs(v) / most, v < 0 ? "down" : "up", (v < 0 ? "−" : "+") + Math.abs(v).toFixed(2));
  }
  const text = whole
    ? "Log-odds: they add up to " + sum.toFixed(2).replace("-", "−") + ". The larger the sum, the more probable is the term."
    : "Log-odds of the pyramid kernels; for training sets, other kernels are not taken apart.";
  return [make("h3", { text: "What speaks for " + termName(j) }), bars, make("p", { class: "note", text })];
}

let opened = -1;
function neighbour(by) {
  const to = shown[opened + by];
  if (to) detail(to);
}

function detail(set) {
  const dialog = find("detail");
  opened = shown.indexOf(set);
  const close = make("button", { type: "button", text: "Close" });
  close.addEventListener("click", () => dialog.close());
  const pictures = make("div", { class: "seen" });
  const views = set.pictures.map(([name, view, source], i) => {
    const img = make("img", { src: source, alt: name });
    const over = make("div", { class: "over" }, img);
    pictures.append(make("figure", {}, over, make("figcaption", { text: view ? view + ": " + name : name })));
    return { img, over, i };
  });
  const evidence = set.evidence;
  const note = make("p", { class: "note", text: evidence.length ? "" : "Which pixels speak for a term only pyramids and Fisher vectors of patches can show, and none of them counts here." });
  const reasons = make("div", {}), bars = make("div", { class: "bars" }), buttons = [];
  let drawn = null;
  function draw(j) {
    for (const b of buttons) b.setAttribute("aria-pressed", String(Number(b.dataset.term) === j));
    reasons.replaceChildren(...parts(set, j));
    for (const { over } of views) over.querySelector("canvas")?.remove();
    if (!drawn) return;
    for (const { over, width, height, totals } of drawn.found) {
      if (!totals.has(j)) continue;
      const canvas = make("canvas", { "aria-hidden": "true", width, height });
      paint(canvas, totals.get(j), drawn.most);
      over.append(canvas);
    }
    const kernels = [...new Set(evidence.map((e) => run.sees[e.kernel] || e.kernel))].join("; ");
    note.textContent = drawn.terms.includes(j)
      ? "Where there is evidence for " + termName(j) + ": orange speaks for it, blue against it. Only this is drawn: " + kernels + "."
      : "Reasons are kept for the first " + drawn.terms.length + " terms of a set, not for " + termName(j) + ".";
  }
  for (const [j, p] of set.scores.slice(0, 12)) {
    const kind = kindOf(set, j);
    const choice = make("button", { type: "button", text: termName(j) + (kind && kind !== "free" ? " (" + TITLES[kind] + ")" : ""), "aria-pressed": "false", class: kind });
    choice.dataset.term = j;
    choice.addEventListener("click", () => draw(j));
    buttons.push(choice);
    row(bars, choice, p || 0, kind, percent(p));
  }
  const near = make("div", { class: "near" });
  for (const [name, similarity] of set.near) {
    const [terms, source] = run.train[name] || [[], null];
    const item = make("div", {});
    if (source) item.append(make("img", { src: source, alt: "" }));
    item.append(make("p", { text: name }), make("p", { class: "note", text: "similarity " + similarity.toFixed(2) + ": " + (terms.map(termName).join(", ") || "no term") }));
    near.append(item);
  }
  const name = make("h2", { id: "detail-name", text: set.name, tabindex: "-1" });
  dialog.replaceChildren(
    make("div", { class: "detail-bar" }, name, close),
    pictures, note, bars, reasons, make("h3", { text: "Most similar training sets" }), near);
  if (!dialog.open) dialog.showModal();
  name.focus(); // a set that was shown before took the focus with it
  const best = set.scores.map((s) => s[0]).find((j) => j in set.parts);
  if (best === undefined) return;
  Promise.all(views.map((v) => v.img.decode().catch(() => 0))).then(() => {
    if (evidence.length) drawn = maps(evidence, views);
    draw(best);
  });
}

// -- controls -----------------------------------------------------------------------

function fill(select, options) {
  for (const [value, text] of options) select.append(make("option", { value, text }));
}
fill(find("term"), run.terms.map((t, j) => [j, t.name + " (" + sets.filter((s) => wanted(s, j, "all")).length + ")"]));
const some = sets.some((s) => s.given), none = sets.some((s) => !s.given);
fill(find("error"), Object.entries(KINDS).filter(([k]) => k === "all" || (k === "unknown" ? none && some : some)));
fill(find("order"), Object.entries(ORDERS).filter(([k]) => k !== "worst" || some));
find("controls").hidden = false;
find("controls").addEventListener("submit", (event) => event.preventDefault());
let waiting = 0;
find("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 80); });
for (const id of ["term", "error", "order"]) find(id).addEventListener("change", filter);
find("previous").addEventListener("click", () => turn(-1));
find("next").addEventListener("click", () => turn(1));
find("detail").addEventListener("click", (event) => { if (event.target === find("detail")) find("detail").close(); });
find("detail").addEventListener("close", () => { current = opened; step(0); });
find("list").addEventListener("focusin", (event) => { current = Number(event.target.dataset.position); });
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (find("detail").open) {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by) { neighbour(by); event.preventDefault(); }
    return;
  }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  const keys = { "/": () => find("search").focus(), j: () => step(1), k: () => step(-1), n: () => turn(1), p: () => turn(-1) };
  if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
});

startTheme(() => {});
filter();
document.documentElement.dataset.ready = "yes";
