// Drawing, controls and tables.

const FIGURES = {
  comparison, differences, roc, counts, cooccurrence, hypergraph, confusion, responses, scatter, separation, circle, components, scree, alpha,
};

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

// To begin with, labels that the best method tells well and that not nearly all samples carry.
function telling() {
  const curves = (methods.find((m) => m.model && !m.baseline) || methods[0]).roc;
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

// Figures take their widths when they are drawn: in another window they are drawn again.
function followWindow() {
  let width = window.innerWidth, wait;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(wait);
    wait = setTimeout(drawAll, 150);
  });
}

// -- tables -----------------------------------------------------------------------------

const SEARCH_FROM = 12; // shorter tables are read faster than searched

// What a cell is sorted by: its number where it begins with one, else its text.
function sortKey(cell) {
  const text = cell.textContent.trim(), value = parseFloat(text.replace(/,/g, "").replace("\u2212", "-"));
  return Number.isNaN(value) ? text : value;
}

function compareKeys(a, b) {
  if (typeof a === "number" && typeof b === "number") return a - b;
  if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
  return a.localeCompare(b, "en", { numeric: true });
}

function sortBy(table, column, down) {
  const body = table.tBodies[0], rows = [...body.rows];
  const keys = new Map(rows.map((row) => [row, sortKey(row.cells[column])]));
  rows.sort((a, b) => (down ? -1 : 1) * compareKeys(keys.get(a), keys.get(b)));
  body.append(...rows);
}

function startTable(table) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      // Numbers come largest first, words from a.
      const before = head.getAttribute("aria-sort"), number = head.classList.contains("num");
      const down = before ? before === "ascending" : number;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      sortBy(table, column, down);
    });
  });
  if (table.tBodies[0].rows.length >= SEARCH_FROM) addSearch(table);
}

// How text is compared: blanks count once, and not at the ends.
const inOneLine = (text) => text.trim().toLowerCase().replace(/\s+/g, " ");

function addSearch(table) {
  const label = document.createElement("label"), field = document.createElement("input"), found = document.createElement("span");
  label.className = "field search";
  field.type = "search";
  found.setAttribute("role", "status");
  label.append(`Search in ${table.caption.textContent}`, field);
  field.addEventListener("input", () => {
    const wanted = inOneLine(field.value);
    let n = 0;
    for (const row of table.tBodies[0].rows) {
      row.hidden = !inOneLine([...row.cells].map((cell) => cell.textContent).join(" ")).includes(wanted);
      n += row.hidden ? 0 : 1;
    }
    found.textContent = wanted ? `${n} of ${table.tBodies[0].rows.length} rows` : "";
  });
  table.parentElement.before(label, found);
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
  find("download").addEventListener("click", save);
  on("#metric", "comparison");
  on("#scatter-method, input[name=dimensions], input[name=part], input[name=arrows]", "scatter");
  on("#roc-view, input[name=curve]", "roc");
  on("#confusion-method", "confusion");
  on("#response-method, #response", "responses");
  on("#circle-method", "separation");
  on("#circle-method", "circle");
  on("input[name=scale]", "scree");
  startChips();
  document.querySelectorAll("table.sortable").forEach(startTable);
  followWindow();
  startTheme(drawAll);
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
