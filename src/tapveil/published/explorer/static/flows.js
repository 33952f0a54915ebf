// From where to where, as a map, a matrix or a list: of a day or a kind of day, of a time, of one place or all.

const FLOW_TITLES = { map: "Map", matrix: "Matrix", list: "List" };
const ORDER_TITLES = {
  area: "Neighbours together",
  linked: "Linked places together",
  volume: "Busiest first",
  name: "By name",
};
const MOST_FLOWS = [50, 150, 400, 1000];
const RANKED = 8;
const INTERVALS = ["noise_low", "noise_high", "days_low", "days_high"];

class Flows {
  static shows = ["table", "part", "place", "time", "numbers", "flows", "order", "vs", "difference"];

  constructor(app) {
    this.app = app;
    this.pairs = new Pairs(app);
    this.page = 0;
    this.most = window.innerWidth > 620 ? 150 : 50; // more of them hide each other where they meet
    this.as = el("div", { class: "switch", role: "group", "aria-label": "Shown as" });
    const select = (label, change) =>
      el("select", { "aria-label": label, onchange: (event) => change(event.target.value) });
    this.order = select("Order of the places", (order) => app.set({ order }));
    this.number = select("Number of flows", (most) => {
      this.most = +most;
      this.draw();
    });
    this.showing = el(
      "button",
      {
        type: "button",
        id: "flows-difference",
        onclick: () => app.set({ difference: !app.view.difference }, "#flows-difference"),
      },
      "Show difference",
    );
    this.download = el("button", { type: "button", onclick: () => this.take() }, "Download (CSV)");
    this.zooms = el("div", { class: "tools" });
    at("flows-tools").append(this.showing, this.as, this.order, this.number, this.zooms, this.download);
    this.map = new FlowMap(app, this);
    this.matrix = new Matrix(app, this);
  }

  draw() {
    const { view, release } = this.app,
      now = this.pairs.chosen(view.part);
    at("flows").hidden = !now?.all.length;
    if (at("flows").hidden) return;
    const found = (this.found = view.comparing ? this.pairs.changes(view.part, view.other) : now);
    this.places =
      found.list === "*place"
        ? this.map.placesOf(release.labels.mode?.[view.part.mode]).filter((place) => place.code >= 0)
        : [];
    const ways = this.places.length > 1 ? ["map", "matrix", "list"] : ["matrix", "list"];
    this.way = ways.includes(view.flows) ? view.flows : ways[0];
    const orders = [...(this.places.length > 1 ? ["area"] : []), "linked", "volume", "name"];
    this.ordered = orders.includes(view.order) ? view.order : orders[0];
    this.tools(ways, orders);
    at("flows-canvas").hidden = at("flows-keys").hidden = this.zooms.hidden = this.number.hidden = this.way !== "map";
    at("matrix-canvas").hidden = at("matrix-keys").hidden = this.order.hidden = this.way !== "matrix";
    at("flows-table").hidden = this.download.hidden = this.way !== "list";
    const nothing = found.then && !found.all.length;
    const among = { map: () => this.drawMap(), matrix: () => this.drawMatrix(), list: () => this.drawList() }[
      this.way
    ]();
    at("flows-note").replaceChildren(
      nothing
        ? `No flow is published on every day of ${this.when(found.then)} and of ${this.when()}, so no change is known. `
        : found.then
        ? `Change from ${this.when(found.then)} to ${this.when()}. `
        : `${capital(this.when())}: ${this.text(found.total)}${this.release.every_cell ? " between all places" : " in the flows that are listed"}. `,
      nothing ? "" : among,
      this.caveat(),
    );
    if (nothing) at("flows-legend").replaceChildren();
    this.ranking();
  }

  get release() {
    return this.app.release;
  }

  tools(ways, orders) {
    const { view } = this.app,
      options = (select, values, titles, chosen) =>
        select.replaceChildren(
          ...values.map((value) => el("option", { value, selected: value === chosen }, titles[value] ?? String(value))),
        );
    this.showing.hidden = view.vs === null;
    this.showing.setAttribute("aria-pressed", String(view.difference));
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
    const changed = found.then
      ? [item(sample(map.most, colours.on), "more than before"), item(sample(map.most, colours.off), "fewer than before")]
      : null;
    at("flows-legend").replaceChildren(
      ...[map.most, map.most / 3].map((count) =>
        item(sample(count, map.place || changed ? colours.soft : map.shade(count)), this.text(count)),
      ),
      ...(changed ??
        (map.place
        ? [
            item(sample(map.most, colours.on), "from the selected place"),
            item(sample(map.most, colours.off), "to the selected place"),
          ]
        : [])),
      "A flow starts wide where trips start, and ends in a point where they end.",
    );
    const drawn = `Drawn: ${map.lines.length < map.number ? `the ${number(map.lines.length)} largest of ${plural(map.number, found.then ? "change" : "flow")}` : plural(map.number, found.then ? "change" : "flow")}${place ? ` of ${place}` : ""}`;
    if (found.then) {
      if (!map.lines.length) at("flows-legend").replaceChildren();
      if (found.table.estimate) return "No change is drawn. ";
      const few = found.all.filter((pair) => Math.abs(pair.count) <= found.limit).length;
      const noise = `${number(few)} of ${plural(found.all.length, "change")} may be noise alone, and are not drawn: the list has them.`;
      return `${map.lines.length ? drawn : "No change is larger than noise explains"}. ${noise} `;
    }
    const own = place
      ? this.both(map.place.code).reduce((sum, count) => sum + count, 0) -
        Math.max(0, found.count(map.place.code, map.place.code))
      : found.total;
    const share = own > 0 ? Math.round((100 * map.shown) / own) : 0;
    return `${drawn}, ${share} % of ${place ? "its" : this.release.every_cell ? "all" : "their"} ${this.noun(2)}. `;
  }

  drawMatrix() {
    const { words } = this.app,
      { found, matrix } = this;
    matrix.draw(found, this.places, this.ordered);
    const absent = found.then
      ? "not published on one of the days"
      : found.several
        ? "not published on any of the days"
        : `not published: ${words.absent(found.table)}`;
    legend(
      at("flows-legend"),
      this.app,
      matrix.scale,
      (found.then ? "change in " : "") + (found.several ? `${this.noun(2)} a day` : this.noun(2)),
      absent,
    );
    if (matrix.codes.length === matrix.number) return "";
    const drawn = `Drawn: the ${number(matrix.codes.length)} ${found.then ? "places that changed most" : "busiest"} of ${plural(matrix.number, "place")}`;
    if (found.then) return `${drawn}. `;
    return `${drawn}, with ${Math.round((100 * matrix.shown) / found.total)} % of ${this.release.every_cell ? "all" : "their"} ${this.noun(2)}. `;
  }

  drawList() {
    const { found } = this,
      rows = (this.rows = this.listed()),
      pages = Math.max(1, Math.ceil(rows.length / ROWS));
    this.page = Math.min(this.page, pages - 1);
    at("flows-legend").replaceChildren();
    const { head, cells } = this.columns();
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
                ...cells(pair).map((text) => el("td", { class: "number" }, text)),
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
    return `${plural(rows.length, found.then ? "change" : "flow")}${this.chosen === null ? "" : ` from or to ${this.name(this.chosen)}`}. `;
  }

  // The columns of the list besides both places: {head, cells(pair)}.
  columns() {
    const { words } = this.app,
      { found } = this,
      a = found.several ? " a day" : "";
    if (found.then) {
      return {
        head: ["From", "To", `Now${a}`, `Before${a}`, "Change", ...(this.noisy ? ["Noise alone", "Noise and days"] : [])],
        cells: (pair) => {
          const { text, noise, days } = this.noisy ? words.change(this.change(pair)) : { text: signed(pair.count) };
          return [amount(pair.now), amount(pair.then), text, ...(this.noisy ? [noise, days || "not known"] : [])];
        },
      };
    }
    const range = found.table.estimate && found.several ? null : (pair) => this.range(pair);
    return {
      head: ["From", "To", capital(this.noun(2)) + a, ...(range ? ["95 % interval"] : [])],
      cells: (pair) => [this.amount(pair.count) + this.partly(pair), ...(range ? [range(pair)] : [])],
    };
  }

  // Whether each pair is one cell of a day, of which the noise is known.
  get noisy() {
    return this.found.each && !this.found.table.estimate;
  }

  // The change of a pair with its intervals.
  change(pair) {
    const { from, to, clock } = this.found.ends;
    return this.app.change(this.found.table, {
      [from]: pair.from,
      [to]: pair.to,
      ...(clock ? { [clock]: this.found.time } : {}),
    });
  }

  // The interval of a pair: that of its cell, or of the mean over days, with room for days that do not list it.
  spot(pair) {
    const { found } = this,
      single = found.spot(pair);
    if (single || !this.noisy) return single;
    const seen = found.listed(pair.from, pair.to);
    return meanSpot(found.table, found.number, pair.count * found.number, seen, seen * found.table.variance);
  }
  range(pair) {
    if (this.found.then) return this.noisy ? this.app.words.change(this.change(pair)).noise : "";
    const spot = this.spot(pair);
    return spot ? this.app.words.cell(this.found.table, spot).range : "";
  }
  partly(pair) {
    const { found } = this;
    return found.each && found.listed(pair.from, pair.to) < found.number ? " listed" : "";
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
    if (this.found.then) return signed(count);
    return count && this.found.several && Math.abs(count) < 10 ? count.toFixed(1) : number(Math.round(count));
  }

  // What is counted, in a word: how cards are counted is said at the top of the page.
  noun(count) {
    return this.app.words.counted(count).split(",")[0];
  }

  text(count) {
    const mean = this.found.several;
    if (count === SUPPRESSED) return "not published";
    return `${this.found.table.estimate || mean ? "about " : ""}${this.amount(count)} ${this.noun(this.amount(count) === "1" ? 1 : 2)}${mean ? " a day" : ""}`;
  }

  say(pair) {
    const { words } = this.app,
      { found } = this,
      head = `${this.name(pair.from)} → ${this.name(pair.to)}`,
      spot = this.spot(pair);
    if (found.then && pair.count !== SUPPRESSED) {
      const [now, then] = [found, found.then].map((each) => this.when(each));
      const { text, noise, days } = this.noisy ? words.change(this.change(pair)) : { text: signed(pair.count) };
      const [count, before] = [found, found.then].map((each) => each.whole(pair.from, pair.to));
      return [
        head,
        `${capital(now)}: ${amount(count)}`,
        `${capital(then)}: ${amount(before)}`,
        `Change: ${text}`,
        noise && `noise alone: ${noise}`,
        days && `noise and chance between days: ${days}`,
      ].filter(Boolean);
    }
    return spot
      ? [head, words.sentence(this.found.table, spot), words.weight(spot)].filter(Boolean)
      : [head, this.text(pair.count)];
  }

  when(found = this.found) {
    const { view, words } = this.app;
    const days = found.kinds
      ? `mean of the ${number(found.number)} ${found.kinds.map((kind) => KIND_TITLES[kind]).join(", ")}`
      : view.day
        ? words.label(found.table, view.day, found.part[view.day], found.part)
        : "all days";
    return `${days}, ${found.time === null ? "all times" : words.span(found.typical ?? found.table, found.time)}`;
  }

  // What these numbers are not.
  caveat() {
    const { view, release } = this.app,
      { found } = this,
      said = [];
    if (found.swapped) said.push("These are changes of the measurements: how much of a change of estimates is noise is not known.");
    else if (found.then && found.table.estimate) said.push(CHANGES_OF_ESTIMATES);
    if (view.time !== null && found.time === null)
      said.push(`Times are not ${found.swapped ? "measured" : "known"} by pair here: these are all times.`);
    if (found.kinds && !view.several)
      said.push("By time, this page has pairs as means over a kind of day; the folder has those of each day.");
    if (found.then && found.unknownPairs)
      said.push(`Left out: ${plural(found.unknownPairs, "flow")} that some of the days do not publish.`);
    else if (!release.every_cell && !found.then) said.push(this.leftOut());
    if (found.without > 0 && this.way === "map" && found.total > 0)
      said.push(`Not on the map: ${this.text(found.without)} with an unknown end.`);
    if (found.several && found.table.estimate && !found.then) said.push("Means of estimates have no interval.");
    return said.join(" ");
  }

  // What flows that are not listed hold: the total is published, or nobody knows.
  leftOut() {
    const { release } = this.app,
      { found } = this,
      whole = found.time === null && release.total?.of(found.part);
    if (!whole || whole.low === null) return "How many trips are in flows that are not listed is not known.";
    return `${capital(this.other(whole, found.total, found.all.length))} are in flows that are not listed.`;
  }

  // What a whole has besides some cells that are listed: both are noisy.
  other(whole, listed, cells) {
    const { table, number: days } = this.found,
      half = (Math.sqrt(cells * table.variance) * noiseQuantile(table.gaussian)) / Math.sqrt(days);
    const rest = [whole.count, whole.low - half, whole.high + half].map((n) => Math.max(0, Math.round(n - listed)));
    return `the other ${number(rest[0])} (${number(rest[1])} to ${number(rest[2])}) of about ${number(Math.round(whole.count))}`;
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

  // The same, of changes.
  changes(code) {
    const sum = (end) =>
      signed(this.found.all.reduce((all, pair) => all + (pair[end] === code ? pair.count : 0), 0));
    return [`from here ${sum("from")}`, `to here ${sum("to")}`];
  }

  // The largest flows, or those of the selected place, as text.
  ranking() {
    const { found, chosen } = this,
      lists = [];
    let ranges = false;
    const item = (pair, label) => {
      const range = this.range(pair);
      ranges ||= Boolean(range);
      const small = range ? el("small", {}, range) : null;
      return el("li", {}, ...label(pair), el("span", { class: "number" }, this.amount(pair.count), small));
    };
    const list = (title, pairs, label) =>
      pairs.length &&
      lists.push(
        el("h3", {}, title),
        el("ol", {}, ...pairs.slice(0, RANKED).map((pair) => item(pair, label))),
      );
    const known = (pair) => pair.from !== found.unknown && pair.to !== found.unknown;
    const positive = found.all.filter((pair) => pair.count > (found.limit ?? 0) && known(pair));
    if (found.then) {
      const own = chosen === null ? () => true : (pair) => pair.from === chosen || pair.to === chosen;
      const both = (pair) => [el("span", {}, this.button(pair.from), " → ", this.button(pair.to))];
      list("Grew most", positive.filter(own), both);
      list(
        "Shrank most",
        found.all.filter((pair) => pair.count < -found.limit && known(pair) && own(pair)),
        both,
      );
    } else if (chosen === null) {
      list("Largest flows", positive, (pair) => [el("span", {}, this.button(pair.from), " → ", this.button(pair.to))]);
    } else {
      const name = bidi(this.name(chosen));
      list(
        el("span", {}, "From ", name, " to"),
        positive.filter((pair) => pair.from === chosen),
        (pair) => [this.button(pair.to)],
      );
      lists.push(this.sumOf(chosen, "on"));
      list(
        el("span", {}, "To ", name.cloneNode(true), " from"),
        positive.filter((pair) => pair.to === chosen),
        (pair) => [this.button(pair.from)],
      );
      lists.push(this.sumOf(chosen, "off"));
    }
    if (ranges) {
      const what = found.then ? "what noise alone leaves open" : `the ${this.app.words.interval(found.table)}`;
      lists.push(el("p", { class: "note" }, `In small print: ${what}.`));
    }
    at("flows-ranking").replaceChildren(...lists.filter(Boolean));
  }

  // What the flows of a place add up to, and what they leave out: all of them are known where the place is.
  sumOf(code, side) {
    const { found } = this,
      end = side === "on" ? "from" : "to",
      own = found.all.filter((pair) => pair[end] === code && pair.count > 0),
      sum = own.reduce((all, pair) => all + pair.count, 0);
    if (this.release.every_cell || !own.length) return null;
    const table = found.time === null ? this.release.like(found.table, ["location"], side) : null,
      whole = table && table.complete ? table.cells(found.part).spot(code) : null;
    const listed = `Listed: ${this.amount(sum)}`;
    if (!whole || whole.count === SUPPRESSED || whole.low === null) return el("p", { class: "fine" }, `${listed}; what is not listed is not known.`);
    return el("p", { class: "fine" }, `${listed}; ${this.other(whole, sum, own.length)} are not.`);
  }

  // --- to take away -----------------------------------------------------------------------------------------------------

  csv() {
    const { found } = this,
      ends = (range) => range ?? ["", ""],
      ranges = !found.table.estimate || found.spot({ from: 0, to: 0 }) !== null,
      intervals = this.noisy;
    const head = [
      "origin",
      "destination",
      ...(found.then
        ? ["count", "compared_count", "change", ...(intervals ? INTERVALS : [])]
        : [found.several ? "mean_count" : "count", ...(ranges && found.each ? ["low", "high"] : [])]),
      ...(found.several && intervals && !found.then ? ["days_listed", "days"] : []),
    ];
    const lines = this.rows.map((pair) => {
      const names = [found.labels[pair.from], found.labels[pair.to]];
      if (found.then) {
        const change = intervals ? this.change(pair) : null;
        const limits = change ? [...ends(change.noise), ...ends(change.days)] : [];
        return [...names, pair.now, pair.then, pair.count, ...limits];
      }
      const spot = ranges && found.each ? this.spot(pair) : null;
      return [
        ...names,
        pair.count,
        ...(ranges && found.each ? [spot?.low ?? "", spot?.high ?? ""] : []),
        ...(found.several && intervals ? [found.listed(pair.from, pair.to), found.number] : []),
      ];
    });
    return [head, ...lines].map((line) => line.map(quoted).join(",") + "\n").join("");
  }

  take() {
    save(this.csv(), `${this.app.release.release}-flows.csv`);
    this.app.say(`${plural(this.rows.length, "row")} downloaded`);
  }
}
