// From where to where, as a map, a matrix or a list: of a day or a kind of day, of a time, of one place or all.

const FLOW_TITLES = { map: "Map", matrix: "Matrix", list: "List" };
const ORDER_TITLES = { area: "Neighbours together", volume: "Busiest first", name: "By name" };
const MOST_FLOWS = [50, 150, 400, 1000];
const RANKED = 8;

class Flows {
  static shows = ["table", "part", "place", "time", "numbers", "flows", "days", "order"];

  constructor(app) {
    this.app = app;
    this.pairs = new Pairs(app);
    this.page = 0;
    this.most = window.innerWidth > 620 ? 400 : 150;
    this.as = el("div", { class: "switch", role: "group", "aria-label": "Shown as" });
    const select = (label, change) =>
      el("select", { "aria-label": label, onchange: (event) => change(event.target.value) });
    this.days = select("Days", (days) => app.set({ days }));
    this.order = select("Order of the places", (order) => app.set({ order }));
    this.number = select("Number of flows", (most) => {
      this.most = +most;
      this.draw();
    });
    this.download = el("button", { type: "button", onclick: () => this.take() }, "Download (CSV)");
    this.zooms = el("div", { class: "tools" });
    at("flows-tools").append(this.days, this.as, this.order, this.number, this.zooms, this.download);
    this.map = new FlowMap(app, this);
    this.matrix = new Matrix(app, this);
  }

  draw() {
    const { view, release } = this.app,
      found = (this.found = this.pairs.chosen());
    at("flows").hidden = !found?.all.length;
    if (at("flows").hidden) return;
    this.places =
      found.list === "*place"
        ? this.map.placesOf(release.labels.mode?.[view.part.mode]).filter((place) => place.code >= 0)
        : [];
    const ways = this.places.length > 1 ? ["map", "matrix", "list"] : ["matrix", "list"];
    this.way = ways.includes(view.flows) ? view.flows : ways[0];
    const orders = this.places.length > 1 ? ["area", "volume", "name"] : ["volume", "name"];
    this.ordered = orders.includes(view.order) ? view.order : orders[0];
    this.tools(ways, orders);
    at("flows-canvas").hidden = at("flows-keys").hidden = this.zooms.hidden = this.number.hidden = this.way !== "map";
    at("matrix-canvas").hidden = at("matrix-keys").hidden = this.order.hidden = this.way !== "matrix";
    at("flows-table").hidden = this.download.hidden = this.way !== "list";
    const among = { map: () => this.drawMap(), matrix: () => this.drawMatrix(), list: () => this.drawList() }[
      this.way
    ]();
    at("flows-note").replaceChildren(
      `${capital(this.when())}: ${this.text(found.total)} between all places. `,
      among,
      this.caveat(),
    );
    this.ranking();
  }

  tools(ways, orders) {
    const { view } = this.app,
      options = (select, values, titles, chosen) =>
        select.replaceChildren(
          ...values.map((value) => el("option", { value, selected: value === chosen }, titles[value] ?? String(value))),
        );
    const day = view.day ? this.app.words.label(this.found.table, view.day, view.part[view.day], view.part) : "";
    options(this.days, this.pairs.kinds, { ...DAY_TITLES, day }, this.found.days);
    this.days.hidden = this.pairs.kinds.length < 2;
    options(this.order, orders, ORDER_TITLES, this.ordered);
    options(
      this.number,
      MOST_FLOWS,
      Object.fromEntries(MOST_FLOWS.map((n) => [n, `${number(n)} largest flows`])),
      this.most,
    );
    const focused = document.activeElement?.parentElement === this.as ? document.activeElement.id : null;
    this.as.replaceChildren(
      ...ways.map((way) =>
        el(
          "button",
          {
            type: "button",
            id: `flows-as-${way}`,
            "aria-pressed": String(way === this.way),
            onclick: () => this.app.set({ flows: way }, `#flows-as-${way}`),
          },
          FLOW_TITLES[way],
        ),
      ),
    );
    if (focused) at(focused)?.focus();
  }

  // --- as what --------------------------------------------------------------------------------------------------------

  drawMap() {
    const { colours } = this.app,
      { found } = this;
    this.map.draw(found, this.places, this.most);
    const { map } = this,
      place = map.place && this.name(map.place.code);
    at("flows-canvas").setAttribute(
      "aria-label",
      `Flow map of ${plural(this.places.length, "place")}, ${this.when()}${place ? `, flows of ${place}` : ""}`,
    );
    const sample = (count, colour) => {
      const strip = el("canvas", { "aria-hidden": "true" }),
        draw = pen(strip, 54, 16),
        half = map.thick(count) / 2;
      draw.fillStyle = colour;
      draw.beginPath();
      draw.moveTo(2, 8 - half);
      draw.lineTo(52, 8);
      draw.lineTo(2, 8 + half);
      draw.fill();
      return strip;
    };
    const item = (...parts) => el("span", { class: "item" }, ...parts);
    at("flows-legend").replaceChildren(
      ...[map.most, map.most / 3].map((count) =>
        item(sample(count, map.place ? colours.soft : map.scale.colour(count)), this.text(count)),
      ),
      ...(map.place
        ? [
            item(sample(map.most, colours.on), "from the selected place"),
            item(sample(map.most, colours.off), "to the selected place"),
          ]
        : []),
      "A flow starts wide where trips start, and ends in a point where they end.",
    );
    const own = place
      ? this.both(map.place.code).reduce((sum, count) => sum + count, 0) -
        Math.max(0, found.count(map.place.code, map.place.code))
      : found.total;
    const share = own > 0 ? Math.round((100 * map.shown) / own) : 0;
    return `Drawn: ${map.lines.length < map.number ? `the ${number(map.lines.length)} largest of ${plural(map.number, "flow")}` : plural(map.number, "flow")}${place ? ` of ${place}` : ""}, ${share} % of ${place ? "its" : "all"} ${this.noun(2)}. `;
  }

  drawMatrix() {
    const { words } = this.app,
      { found, matrix } = this;
    matrix.draw(found, this.places, this.ordered);
    const absent = found.number > 1 || found.typical ? "not published" : `not published: ${words.absent(found.table)}`;
    legend(
      at("flows-legend"),
      this.app,
      matrix.scale,
      found.number > 1 ? `${this.noun(2)} a day` : this.noun(2),
      absent,
    );
    if (matrix.codes.length === matrix.number) return "";
    return `Drawn: the ${number(matrix.codes.length)} busiest of ${plural(matrix.number, "place")}, with ${Math.round((100 * matrix.shown) / found.total)} % of all ${this.noun(2)}. `;
  }

  drawList() {
    const { words } = this.app,
      { found } = this,
      rows = (this.rows = this.listed()),
      pages = Math.max(1, Math.ceil(rows.length / ROWS));
    this.page = Math.min(this.page, pages - 1);
    at("flows-legend").replaceChildren();
    const single = found.spot(rows[0] ?? { from: 0, to: 0 }) !== null,
      head = [
        "From",
        "To",
        capital(this.noun(2)) + (found.number > 1 ? " a day" : ""),
        ...(single ? ["95 % interval"] : []),
      ];
    const turn = (by, focus) => () => {
      this.page += by;
      this.draw();
      at(focus)?.focus();
    };
    at("flows-table").replaceChildren(
      el(
        "table",
        {},
        el("caption", { class: "hidden" }, `From where to where, ${this.when()}`),
        el(
          "thead",
          {},
          el("tr", {}, ...head.map((text, i) => el("th", { scope: "col", class: i > 1 ? "number" : null }, text))),
        ),
        el(
          "tbody",
          {},
          ...rows
            .slice(this.page * ROWS, (this.page + 1) * ROWS)
            .map((pair) =>
              el(
                "tr",
                {},
                el("td", {}, this.button(pair.from)),
                el("td", {}, this.button(pair.to)),
                el("td", { class: "number" }, this.amount(pair.count)),
                single ? el("td", { class: "number" }, words.cell(found.table, found.spot(pair)).range) : null,
              ),
            ),
        ),
      ),
      el(
        "div",
        { class: "pages", hidden: pages < 2 },
        el(
          "button",
          { type: "button", id: "flows-back", disabled: this.page === 0, onclick: turn(-1, "flows-back") },
          "Back",
        ),
        `Page ${number(this.page + 1)} of ${number(pages)}`,
        el(
          "button",
          { type: "button", id: "flows-on", disabled: this.page >= pages - 1, onclick: turn(1, "flows-on") },
          "Next",
        ),
      ),
    );
    return `${plural(rows.length, "flow")}${this.chosen === null ? "" : ` from or to ${this.name(this.chosen)}`}. `;
  }

  listed() {
    const { all } = this.found,
      { chosen } = this;
    return chosen === null ? all : all.filter((pair) => pair.from === chosen || pair.to === chosen);
  }

  // --- in words -------------------------------------------------------------------------------------------------------

  // The selected place, if these pairs have it.
  get chosen() {
    return this.app.release.codesOf(this.found.list).get(this.app.view.place) ?? null;
  }

  name(code) {
    return this.app.words.place(this.found.labels[code], this.app.view.part);
  }

  button(code) {
    const place = this.found.labels[code];
    return el("button", { type: "button", onclick: () => this.app.set({ place }) }, bidi(this.name(code)));
  }

  // Means of several days have a digit behind the point where they are small.
  amount(count) {
    if (count === SUPPRESSED) return "not published";
    return count && this.found.number > 1 && Math.abs(count) < 10 ? count.toFixed(1) : number(Math.round(count));
  }

  // What is counted, in a word: how cards are counted is said at the top of the page.
  noun(count) {
    return this.app.words.counted(count).split(",")[0];
  }

  text(count) {
    const mean = this.found.number > 1;
    if (count === SUPPRESSED) return "not published";
    return `${this.found.table.estimate || mean ? "about " : ""}${this.amount(count)} ${this.noun(Math.round(count))}${mean ? " a day" : ""}`;
  }

  say(pair) {
    const { words } = this.app,
      head = `${this.name(pair.from)} → ${this.name(pair.to)}`,
      spot = this.found.spot(pair);
    return spot
      ? [head, words.sentence(this.found.table, spot), words.weight(spot)].filter(Boolean)
      : [head, this.text(pair.count)];
  }

  when() {
    const { view, words } = this.app,
      { found } = this,
      names = { weekday: "weekdays", saturday: "Saturdays", sunday: "Sundays and holidays" };
    const days = found.kinds
      ? `mean of the ${number(found.number)} ${found.kinds.map((kind) => names[kind]).join(", ")}`
      : found.days === "day"
        ? view.day
          ? words.label(found.table, view.day, view.part[view.day], view.part)
          : "all days"
        : `mean of ${found.days === "all" ? `${number(found.number)} days` : `${number(found.number)} ${names[found.days]}`}`;
    return `${days}, ${found.time === null ? "all times" : words.span(found.typical ?? found.table, found.time)}`;
  }

  // What these numbers are not.
  caveat() {
    const { view, release } = this.app,
      { found } = this,
      said = [];
    if (view.time !== null && found.time === null) said.push("Times are not known by pair here: these are all times.");
    if (found.kinds && found.days === "day")
      said.push("By time, this page has pairs as means over a kind of day; the folder has those of each day.");
    if (!release.every_cell) said.push("Flows that are not published are missing.");
    if (found.without > 0 && this.way === "map" && found.total > 0)
      said.push(`Not on the map: ${this.text(found.without)} with an unknown end.`);
    if (found.number > 1 && found.table.estimate) said.push("Means of estimates have no interval.");
    return said.join(" ");
  }

  // How many go from a place, and how many come.
  both(code) {
    let [out, back] = [0, 0];
    for (const pair of this.found.all) {
      if (pair.from === code) out += Math.max(0, pair.count);
      if (pair.to === code) back += Math.max(0, pair.count);
    }
    return [out, back];
  }

  // The largest flows, or those of the selected place, as text.
  ranking() {
    const { found, chosen } = this,
      lists = [];
    const list = (title, pairs, label) =>
      lists.push(
        el("h3", {}, title),
        el(
          "ol",
          {},
          ...pairs
            .slice(0, RANKED)
            .map((pair) => el("li", {}, ...label(pair), el("span", { class: "number" }, this.amount(pair.count)))),
        ),
      );
    const known = (pair) => pair.from !== found.unknown && pair.to !== found.unknown;
    const positive = found.all.filter((pair) => pair.count > 0 && known(pair));
    if (chosen === null) {
      list("Largest flows", positive, (pair) => [el("span", {}, this.button(pair.from), " → ", this.button(pair.to))]);
    } else {
      const name = bidi(this.name(chosen));
      list(
        el("span", {}, "From ", name, " to"),
        positive.filter((pair) => pair.from === chosen),
        (pair) => [this.button(pair.to)],
      );
      list(
        el("span", {}, "To ", name.cloneNode(true), " from"),
        positive.filter((pair) => pair.to === chosen),
        (pair) => [this.button(pair.from)],
      );
    }
    at("flows-ranking").replaceChildren(...lists);
  }

  // --- to take away -----------------------------------------------------------------------------------------------------

  csv() {
    const { found } = this,
      single = found.spot({ from: 0, to: 0 }) !== null;
    const head = [
      "origin",
      "destination",
      found.number > 1 ? "mean_count" : "count",
      ...(single ? ["low", "high"] : []),
    ];
    const lines = this.rows.map((pair) => {
      const spot = found.spot(pair);
      return [
        found.labels[pair.from],
        found.labels[pair.to],
        pair.count,
        ...(single ? [spot.low ?? "", spot.high ?? ""] : []),
      ];
    });
    return [head, ...lines].map((line) => line.map(quoted).join(",") + "\n").join("");
  }

  take() {
    save(this.csv(), `${this.app.release.release}-flows.csv`);
    this.app.say(`${plural(this.rows.length, "row")} downloaded`);
  }
}
