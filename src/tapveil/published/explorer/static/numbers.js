// The counts of the heat map as a table, to read, sort and download.

const ROWS = 20;

class Numbers {
  static shows = ["table", "part", "vs", "place", "time", "find", "by", "page", "numbers"];

  constructor(app) {
    this.app = app;
    this.download = el("button", { type: "button", onclick: () => this.take() }, "Download what is shown (CSV)");
    at("numbers-tools").append(this.download);
  }

  draw() {
    const { view, words, release } = this.app,
      table = view.table,
      other = view.other;
    this.rows = this.chosen();
    this.sort();
    const whole = table.cells(view.part);
    const about = [
      this.place() !== null ? words.place(view.place, view.part) : "",
      this.time() !== null ? words.span(table, this.time()) : "",
      view.find && this.place() === null ? `names with “${view.find}”` : "",
    ].filter(Boolean);
    at("numbers-note").replaceChildren(
      `${words.title(table)}, ${this.partTitle()}. ${about.length ? `Only ${about.join(", ")}: ` : ""}${plural(this.rows.filter((row) => row.count !== SUPPRESSED).length, table.estimate ? "estimate" : "published count")}${about.length ? ` of ${number(whole.size)}` : ""}. `,
      about.length || release.every_cell ? "" : `All other combinations are not published: ${words.absent(table)}. `,
      table.estimate
        ? "Combinations that are not listed are estimated as 0. The intervals contain the true count for about 19 of 20 cells: this was measured on real trips, and is not proved. “Own” is how much an estimate depends on its own measurement; at 0 % it is that of a typical day."
        : release.every_cell
          ? "The intervals contain the true count for at least 19 of 20 cells. Negative counts are noise, and not mistakes: leave them in sums."
          : `The intervals contain the true count for at least 19 of 20 cells, published or not. Near the smallest published count, ${number(table.smallest)}, the true count may be much smaller.`,
      this.ofDays(),
    );
    const axes = orderedAxes(table).filter(Boolean);
    const columns = [
      ...axes.map((axis) => ({ id: axis, title: capital(words.columnTitle(axis)) })),
      { id: "count", title: capital(release.counted) + (view.several ? " a day" : ""), number: true },
      { id: "range", title: "95 % interval", number: true },
      ...(table.estimate && !view.several ? [{ id: "weight", title: "Own", number: true }] : []),
    ];
    if (other)
      columns.push(
        { id: "then", title: capital(words.label(table, view.day, view.vs, view.part)), number: true },
        { id: "change", title: "Change", number: true },
        ...(table.estimate
          ? []
          : [
              { id: "noise", title: "Noise alone", number: true },
              { id: "days", title: "Noise and days", number: true },
            ]),
      );
    const pages = Math.max(1, Math.ceil(this.rows.length / ROWS));
    const first = this.firstPage();
    view.page = Math.min(view.page ?? first, pages - 1);
    const shown = this.rows.slice(view.page * ROWS, (view.page + 1) * ROWS);
    const by = view.by ?? { id: "", down: false };
    const head = columns.map((column) =>
      el(
        "th",
        {
          scope: "col",
          class: column.number ? "number" : null,
          "aria-sort": by.id === column.id ? (by.down ? "descending" : "ascending") : null,
        },
        ["range", "weight", "noise", "days"].includes(column.id)
          ? column.title
          : el(
              "button",
              {
                type: "button",
                onclick: () =>
                  this.app.set(
                    { by: { id: column.id, down: by.id === column.id ? !by.down : Boolean(column.number) }, page: 0 },
                    `[data-sort="${CSS.escape(column.id)}"]`,
                  ),
                "data-sort": column.id,
              },
              column.title + (by.id === column.id ? (by.down ? " ↓" : " ↑") : ""),
            ),
      ),
    );
    const body = shown.map((row) =>
      el(
        "tr",
        { class: row === this.marked ? "marked" : null },
        ...axes.map((axis) => el("td", {}, this.key(table, axis, row))),
        ...this.cellsOf(table, row, other),
      ),
    );
    at("numbers-table").replaceChildren(
      el(
        "table",
        {},
        el("caption", { class: "hidden" }, `${words.title(table)}, ${this.partTitle()}`),
        el("thead", {}, el("tr", {}, ...head)),
        el(
          "tbody",
          {},
          ...(body.length ? body : [el("tr", {}, el("td", { colspan: columns.length }, "Nothing is published here."))]),
        ),
      ),
    );
    this.pages(pages);
  }

  // What means and changes are, and how many changes of nothing look real.
  ofDays() {
    const { view, release } = this.app,
      table = view.table,
      said = [];
    if (view.several && table.estimate) said.push("Means of estimates have no interval.");
    if (view.several && !table.estimate && !release.every_cell)
      said.push(
        "“Listed”: some days do not publish the cell, and the interval has room for what they hold.",
      );
    if (view.vs !== null && table.estimate) said.push(CHANGES_OF_ESTIMATES);
    if (view.vs === null || table.estimate) return said.length ? ` ${said.join(" ")}` : "";
    said.push(
      "Of a change, “noise alone” is what the exact counts of these days would say; “noise and days” is what days like these would say, and has 0 in it where the change may be chance.",
    );
    const compared = this.rows.filter((row) => row.count !== SUPPRESSED && row.then !== SUPPRESSED).length;
    if (compared > 1)
      said.push(
        `${plural(compared, "comparison")}: by chance alone, at most ${number(expectedByChance(compared))} of them look real on average.`,
      );
    return ` ${said.join(" ")}`;
  }

  partTitle() {
    const { view, words } = this.app;
    return (
      [...this.app.release.partition, ...view.extras]
        .map((column) =>
          view.table.kind(column) === "time"
            ? words.span(view.table, view.part[column])
            : words.label(view.table, column, view.part[column], view.part),
        )
        .join(", ") || "all"
    );
  }

  key(table, axis, row) {
    const { view, words } = this.app,
      text = words.label(table, axis, row.codes[axis], view.part);
    if (table.kind(axis) !== "location")
      return table.kind(axis) === "time" ? words.span(table, row.codes[axis]) : bidi(text);
    return el(
      "button",
      {
        type: "button",
        onclick: () => this.app.set({ place: table.labels(axis)[row.codes[axis]], page: null }, "#profile-title"),
      },
      bidi(text),
    );
  }

  cellsOf(table, row, other) {
    const { words } = this.app,
      { text, range, absent } = words.cell(table, row.spot),
      mark = absent ? "number absent" : "number";
    const listed = row.spot.missing && !absent ? " listed" : "";
    const found = [el("td", { class: mark }, text + listed), el("td", { class: "number" }, range)];
    if (table.estimate && !this.app.view.several)
      found.push(el("td", { class: "number" }, row.spot.weight === null ? "" : `${row.spot.weight} %`));
    if (!other) return found;
    const then = words.cell(table, row.before),
      change = words.change(this.app.change(table, row.codes));
    return [
      ...found,
      el("td", { class: then.absent ? "number absent" : "number" }, then.text),
      el("td", { class: change.text === "unknown" ? "number absent" : "number" }, change.text),
      ...(table.estimate ? [] : [change.noise, change.days]).map((text) =>
        el("td", { class: "number" }, text || "not known"),
      ),
    ];
  }

  // The chosen place, if the rows are of places and have it.
  place() {
    const { view } = this.app,
      table = view.table;
    return table.kind(orderedAxes(table)[0]) === "location" ? view.placeIn(table) : null;
  }

  // The chosen time, if the rows are of times and of no place alone.
  time() {
    const { view } = this.app,
      across = orderedAxes(view.table)[1];
    return across && view.table.kind(across) === "time" && this.place() === null ? view.timeIn(view.table) : null;
  }

  // Of a place and a time: the page on which that time is.
  firstPage() {
    const { view } = this.app,
      across = orderedAxes(view.table)[1],
      time = this.place() !== null && across ? view.timeIn(view.table) : null;
    this.marked = time === null ? null : (this.rows.find((row) => row.codes[across] === time) ?? null);
    return this.marked ? Math.floor(this.rows.indexOf(this.marked) / ROWS) : 0;
  }

  // The rows of the part; of one place every time of the day, published or not.
  chosen() {
    const { view, words } = this.app,
      table = view.table,
      cells = table.cells(view.part),
      others = view.other ? table.cells(view.other) : null;
    const { down, across } = cells,
      place = this.place(),
      found = [],
      find = plain(view.find),
      seen = new Set();
    const wanted =
      place !== null
        ? [place]
        : [...new Set([...cells.lines.keys(), ...(others?.lines.keys() ?? [])])].sort((a, b) => a - b);
    const time = this.time();
    const all = across ? table.labels(across).map((_, code) => code) : [0];
    const whole = place !== null && (!across || table.kind(across) === "time");
    for (const code of wanted) {
      if (
        seen.has(code) ||
        (find && place === null && !plain(words.label(table, down, code, view.part)).includes(find))
      )
        continue;
      seen.add(code);
      for (const i of time !== null ? [time] : all) {
        if (!cells.has(code, i) && !others?.has(code, i) && !(whole && (i > 0 || !across))) continue;
        const spot = cells.spot(code, i),
          before = others ? others.spot(code, i) : NOT_PUBLISHED;
        const codes = { [down]: code, ...(across ? { [across]: i } : {}) };
        found.push({ codes, spot, before, count: spot.count, then: before.count });
      }
    }
    return found;
  }

  sort() {
    const { view } = this.app,
      by = view.by;
    if (!by) {
      if (this.place() === null) this.rows.sort((a, b) => b.count - a.count);
      return;
    }
    const value = (row) =>
      by.id === "count"
        ? row.count
        : by.id === "then"
          ? row.then
          : by.id === "change"
            ? row.count === SUPPRESSED || row.then === SUPPRESSED
              ? -Infinity
              : row.count - row.then
            : (row.codes[by.id] ?? 0);
    const named = !["count", "then", "change"].includes(by.id) && view.table.kind(by.id) !== "time";
    if (named) {
      const order = byName(view.table.labels(by.id));
      this.rows.sort((a, b) => order(a.codes[by.id], b.codes[by.id]) * (by.down ? -1 : 1));
      return;
    }
    this.rows.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return (x < y ? -1 : x > y ? 1 : 0) * (by.down ? -1 : 1);
    });
  }

  pages(pages) {
    const { view } = this.app,
      turn = (by, focus) => () => this.app.set({ page: view.page + by }, focus);
    at("numbers-pages").hidden = pages < 2;
    at("numbers-pages").replaceChildren(
      el(
        "button",
        { type: "button", id: "page-back", disabled: view.page === 0, onclick: turn(-1, "#page-back") },
        "Back",
      ),
      `Page ${number(view.page + 1)} of ${number(pages)}`,
      el(
        "button",
        { type: "button", id: "page-on", disabled: view.page >= pages - 1, onclick: turn(1, "#page-on") },
        "Next",
      ),
    );
  }

  // The rows as they are shown, with the columns that the files of the folder have.
  csv() {
    const { view, release } = this.app,
      table = view.table,
      other = view.other;
    const keys = [...release.partition, ...table.columns],
      label = (column, row) =>
        column === view.day
          ? release.periods.name(view.part[column])
          : table.labels(column)[row.codes[column] ?? view.part[column]];
    const limits = ({ count, low, high, missing }) =>
      count === SUPPRESSED
        ? ["", ...(release.from_a_list ? ["", ""] : [0, table.absent])]
        : [count, low ?? "", missing && release.from_a_list ? "" : (high ?? "")];
    const mean = (name) => (view.several ? `mean_${name}` : name),
      ends = (range) => range ?? ["", ""];
    const listed = ({ days, missing }) => (view.several && !table.estimate ? [days - missing, days] : []);
    const head = [
      ...keys,
      mean("count"),
      "low",
      "high",
      ...(view.several && !table.estimate ? ["days_listed", "days"] : []),
      ...(table.estimate && !view.several ? ["weight"] : []),
      ...(other ? ["compared_with", "compared_count", "compared_low", "compared_high"] : []),
      ...(other && !table.estimate ? ["change", "noise_low", "noise_high", "days_low", "days_high"] : []),
    ];
    const changed = (row) => {
      const { value, noise, days } = this.app.change(table, row.codes);
      return [value ?? "", ...ends(noise), ...ends(days)];
    };
    const lines = this.rows.map((row) => [
      ...keys.map((key) => label(key, row)),
      ...limits(row.spot),
      ...listed(row.spot),
      ...(table.estimate && !view.several ? [row.spot.weight ?? ""] : []),
      ...(other ? [release.periods.name(view.vs), ...limits(row.before)] : []),
      ...(other && !table.estimate ? changed(row) : []),
    ]);
    return [head, ...lines].map((line) => line.map(quoted).join(",") + "\n").join("");
  }

  take() {
    const { view, release } = this.app;
    save(this.csv(), `${release.release}-${view.table.name}.csv`);
    this.app.say(`${plural(this.rows.length, "row")} downloaded`);
  }
}

function save(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })),
    link = el("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

const quoted = (value) => {
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};
