// Words, numbers and elements: whatever comes from a file is text, and never markup.

const NUMBER = new Intl.NumberFormat("en");
const number = (n) => NUMBER.format(n);
const plural = (n, word, many = `${word}s`) => `${number(n)} ${n === 1 ? word : many}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const sentence = (text) => (/[.!?]$/.test(text) ? capital(text) : `${capital(text)}.`);
const percent = (share) => (share > 0 && share < 0.01 ? "< 1 %" : `${Math.round(100 * share)} %`);
const at = (id) => document.getElementById(id);
const listed = (words, and = "and") =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${and} ${words.at(-1)}`;

const SVG = new Set([
  "svg",
  "g",
  "path",
  "rect",
  "line",
  "text",
  "circle",
  "title",
  "desc",
  "defs",
  "pattern",
  "polyline",
]);

// An element; strings become text nodes, whatever they hold. Handlers are properties that start with "on".
function el(name, properties = {}, ...children) {
  const made = SVG.has(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Names may run from right to left: they keep to themselves.
const bidi = (text) => el("bdi", {}, text);

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });

function dayTitle(label) {
  const parts = /^(\d{4})-(\d\d)-(\d\d)/.exec(label ?? "");
  return parts ? DAY.format(new Date(Date.UTC(+parts[1], +parts[2] - 1, +parts[3]))) : (label ?? "");
}

function bytes(size) {
  for (const unit of ["bytes", "kB", "MB"]) {
    if (size < 1000) return `${size < 10 && unit !== "bytes" ? size.toFixed(1) : Math.round(size)} ${unit}`;
    size /= 1000;
  }
  return `${size.toFixed(1)} GB`;
}

// A sentence of a command, for a page: what stands in backquotes is code; options in brackets and files of the
// documentation are left out, since there is no command line here.
function spoken(text) {
  const plain = text.replace(/ \([^()]*--[^()]*\)/g, "").replace(/: docs\/[\w/.-]+\.md/g, "");
  return plain.split("`").map((part, i) => (i % 2 ? el("code", {}, part) : part));
}

// Where the studio has what a message of a command names: such a message may be shown here as well.
const HERE = [
  [/tapveil ledger start/, "step “Budget”, “Start the ledger”"],
  [/tapveil ledger budget/, "step “Budget”, “Change the budget”"],
  [/tapveil ledger plan/, "step “Budget”, “Plan a year”"],
  [/tapveil (init|plan)/, "step “Data”"],
  [/tapveil check/, "step “Check”, “Check everything”"],
  [/tapveil approve|--key/, "step “Check”, “Approval by a second person”"],
  [/--resume/, "step “Release”, “Finish it”"],
  [/--again/, "step “Release”: publish, and confirm that these days are published again"],
  [/--sign\b/, "step “Release”, “Sign it with a key”"],
  [/--(unsigned|owner|name|to)\b/, "step “Release”, “Deliver it to an open-data portal”"],
  [/--(places|gtfs)\b/, "step “Data”, “Public files next to it”"],
  [/tapveil verify/, "step “Release”, “Verify”"],
  [/tapveil (withdraw|intruder|audit|ledger accept)|--(scratch|memory|signers)\b/, "only by this command, in a terminal"],
];
function inTheStudio(text) {
  const found = HERE.filter(([named]) => named.test(text)).map(([, where]) => where);
  return found.length ? el("p", { class: "here" }, el("b", {}, "In the studio: "), `${[...new Set(found)].join("; ")}.`) : null;
}

// --- parts of every step ------------------------------------------------------------------------------------------------

// A card: a title, a note below it, and what it holds. `secret`: it comes from trips, and says so.
let cards = 0;
function card({ title, note, secret = false, span = false, id = null, level = "h2", tools = null }, ...children) {
  const own = id ?? `card-${(cards += 1)}`;
  return el(
    "section",
    { class: `card${span ? " span" : ""}${secret ? " secret" : ""}`, id: own, "aria-labelledby": `${own}-title` },
    secret ? confidential() : null,
    el(
      "div",
      { class: "head" },
      el(
        "div",
        {},
        el(level, { id: `${own}-title` }, title),
        note ? el("p", { class: "note", id: `${own}-note` }, note) : null,
      ),
      tools ? el("div", { class: "tools" }, tools) : null,
    ),
    ...children,
  );
}

const confidential = (text = "exact data, not protected by differential privacy. For you alone.") =>
  el(
    "p",
    { class: "confidential" },
    el(
      "svg",
      { viewBox: "0 0 16 16", width: 15, height: 15, "aria-hidden": "true", focusable: "false" },
      el("path", { d: "M4 7V5a4 4 0 0 1 8 0v2h1v8H3V7zm2 0h4V5a2 2 0 0 0-4 0z", "fill-rule": "evenodd" }),
    ),
    el("b", {}, "CONFIDENTIAL"),
    el("span", {}, text),
  );

// Something to choose one of, as a row of buttons that behave as radio buttons do.
function choices(name, legend, options, chosen, choose, { note = null, vertical = false } = {}) {
  return el(
    "fieldset",
    { class: `choices${vertical ? " vertical" : ""}` },
    el("legend", {}, legend),
    note ? el("p", { class: "note" }, note) : null,
    el(
      "div",
      { class: "options" },
      options.map(([value, text, more], i) =>
        el(
          "label",
          { class: "option" },
          el("input", {
            type: "radio",
            name,
            id: `${name}-${i}`,
            value,
            checked: String(value) === String(chosen),
            onchange: () => choose(value),
          }),
          el("span", { class: "face" }, el("span", { class: "what" }, text), more ? el("small", {}, more) : null),
        ),
      ),
    ),
  );
}

// A table with a caption for those who cannot see it.
function grid(caption, head, rows, { numbers = [] } = {}) {
  const mark = (i) => (numbers.includes(i) ? "number" : null);
  return el(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": caption },
    el(
      "table",
      {},
      el("caption", { class: "hidden" }, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((text, i) => el("th", { scope: "col", class: mark(i) }, text)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            row.map((cell, i) => (i ? el("td", { class: mark(i) }, cell) : el("th", { scope: "row" }, cell))),
          ),
        ),
      ),
    ),
  );
}

// A remark with its weight: "good", "hint", "warn" or "stop"; the weight is a word as well, not a colour alone.
const WEIGHTS = { good: "In order", hint: "Note", warn: "Look at this", stop: "Stops the release", ask: "Question" };
function remark(weight, text, ...more) {
  return el(
    "div",
    { class: `remark ${weight}` },
    el("p", {}, el("b", {}, `${WEIGHTS[weight]}: `), spoken(text)),
    inTheStudio(text),
    ...more,
  );
}
