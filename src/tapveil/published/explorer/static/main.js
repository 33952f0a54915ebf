// The page: what was chosen above is drawn below.

class App {
  constructor(release) {
    this.release = release;
    this.words = new Words(release);
    this.view = new View(release, this.words);
    this.view.read(location.hash);
    this.setTheme();
    this.colours = new Colours();
    this.introduce();
    at("main").hidden = false;
    if (!release.isDrawn) {
      for (const id of ["controls", "summary", "heat", "profile", "map", "balance", "days", "flows", "numbers"])
        at(id).hidden = true;
      performance.mark("drawn");
      return;
    }
    this.cards = [
      new Heat(this),
      new Profile(this),
      new CityMap(this),
      new Balance(this),
      new Days(this),
      new Flows(this),
      new Numbers(this),
    ];
    for (const [i, id] of ["heat", "profile", "map", "balance", "days", "flows", "numbers"].entries())
      this.cards[i].section = at(id);
    if (this.draw()) performance.mark("drawn");
    window.addEventListener("hashchange", () => {
      if (location.hash !== this.view.hash) {
        this.view.read(location.hash);
        this.setTheme();
        this.repaint();
      }
    });
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (width !== window.innerWidth) {
        width = window.innerWidth;
        this.repaint();
      }
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.setTheme();
      this.repaint();
    });
  }

  // A change of view: everything that follows from it, drawn again; the focus stays where it was asked to be.
  set(changes, focus) {
    if ("table" in changes || "vs" in changes) changes = { by: null, page: null, ...changes };
    if ("place" in changes || "time" in changes || "find" in changes) changes = { page: null, ...changes };
    Object.assign(this.view, changes);
    if (this.view.vs === null) {
      this.view.difference = false;
      if (this.view.sort === "difference") this.view.sort = "busiest";
    }
    this.view.chooseExtras();
    this.draw(Object.keys(changes));
    const wanted = focus && document.querySelector(focus);
    if (wanted) {
      if (wanted.tabIndex < 0) wanted.tabIndex = -1;
      wanted.focus();
    }
  }

  repaint() {
    this.colours.read();
    this.measure();
    this.draw();
  }

  // How wide everything is, asked once: asking again while drawing would lay the whole page out each time.
  measure() {
    const wide = (id) => at(id).clientWidth || this.width?.[id] || 600;
    this.width = Object.fromEntries(
      ["heat-scroll", "profile-plot", "map-plot", "balance-plot", "days-plot", "flows-plot"].map((id) => [id, wide(id)]),
    );
  }

  // What follows from the change, and no more; without a change, everything.
  draw(changed = null) {
    if (!this.width) this.measure();
    const follows = (card) => changed === null || changed.some((each) => card.constructor.shows.includes(each));
    this.selectors(changed);
    const missing = new Set(),
      waiting = [];
    const attempt = (card) => {
      try {
        card.draw();
        card.section.inert = false;
        card.section.classList.remove("waiting");
      } catch (error) {
        if (!(error instanceof Missing)) throw error;
        error.blocks.forEach((block) => missing.add(block));
        waiting.push(card);
        card.section.hidden = false;
        card.section.inert = true;
        card.section.classList.add("waiting");
      }
    };
    const summary = { draw: () => this.summary(), section: at("summary") };
    for (const card of [summary, ...this.cards.filter((each) => follows(each) || each.section.inert)]) attempt(card);
    this.fit();
    history.replaceState(null, "", this.view.hash);
    this.tip();
    if (missing.size) this.load([...missing]);
    else at("loading").hidden = true;
    return !missing.size;
  }

  // Reads rows that are in files next to the page, then draws what waits for them.
  async load(blocks) {
    const turn = (this.turn = (this.turn ?? 0) + 1),
      note = at("loading");
    for (const [i, block] of blocks.entries()) {
      note.textContent = `Reading ${number(i + 1)} of ${plural(blocks.length, "file")} …`;
      note.hidden = false;
      try {
        await this.release.read(block);
      } catch {
        note.hidden = true;
        this.trouble(`This page cannot read ${fileOf(block)}. It belongs in the folder next to explorer.html.`);
        return;
      }
      if (turn !== this.turn) return; // something else is looked at by now
    }
    if (this.draw([])) performance.mark("drawn");
  }

  // Cards come and go, and make room for others: what has another width by now is drawn in it.
  fit() {
    if (this.printing) return;
    const before = JSON.stringify(this.width);
    this.measure();
    if (JSON.stringify(this.width) !== before) for (const card of this.cards) if (!card.section.inert) card.draw();
  }

  // Paper is light, and narrow.
  print(printing) {
    this.printing = printing;
    document.documentElement.dataset.theme = "light";
    if (!printing) this.setTheme();
    this.colours.read();
    if (printing)
      this.width = {
        ...{ "heat-scroll": 660, "profile-plot": 660, "map-plot": 320, "balance-plot": 320 },
        ...{ "days-plot": 660, "flows-plot": 660 },
      };
    else this.measure();
    for (const card of this.cards) if (!card.section.inert) card.draw();
  }

  // --- above ---------------------------------------------------------------------------------------------------------

  introduce() {
    const { release, words } = this;
    at("by").textContent =
      [release.publisher, release.region, release.licence && `Licence: ${release.licence}`]
        .filter(Boolean)
        .join(" · ") || "Open data with differential privacy";
    at("lead").textContent = release.promise[0];
    const days = this.view.day ? (release.labels[this.view.day] ?? []) : [];
    const facts = [
      [number(release.cells), release.sources[0] === "estimates" ? "measured counts" : "published counts"],
      days.length
        ? [
            number(days.length),
            days.length === 1 ? dayTitle(days[0]) : `days, ${dayTitle(days[0])} to ${dayTitle(days.at(-1))}`,
          ]
        : null,
      release.labels.mode
        ? [number(release.labels.mode.length), release.labels.mode.length === 1 ? "mode" : "modes"]
        : null,
      release.places.length ? [number(release.places.filter((place) => place !== "UNKNOWN").length), "places"] : null,
    ];
    at("facts").replaceChildren(
      ...facts.filter(Boolean).map(([figure, text]) => el("li", {}, el("b", {}, figure), el("span", {}, text))),
    );
    at("promise-words").replaceChildren(...release.promise.map((sentence) => el("p", {}, sentence)));
    this.meaning();
    this.people();
    this.noise();
    at("files").replaceChildren(
      ...release.files.map((file) =>
        el(
          "li",
          {},
          el("a", { href: file.path.split("/").map(encodeURIComponent).join("/") }, file.path),
          el("span", {}, file.title),
        ),
      ),
    );
    at("colophon").textContent =
      `Created on ${dayTitle(release.created)} with tapveil. This page works offline and makes no network requests.` +
      (release.left_out.length
        ? ` Too large for this page, and only in the folder: ${release.left_out.join(", ")}.` +
          (release.left_out.includes(release.typical?.path)
            ? ` Of ${release.typical.path} this page has sums by kind of day.`
            : "")
        : "");
    if (!release.cells) this.trouble("Nothing was published in this release: every count was too small.");
    else if (!release.tables.length)
      this.trouble(
        "All tables of this release are too large for this page. They are in the folder, next to this page.",
      );
    else if (!release.isDrawn)
      this.trouble(
        "Every count that this page could draw was too small. What was published, such as totals, is in the folder, next to this page.",
      );
  }

  // The promise in frequencies, with the picture of published/describe/frequencies.py: two squares of a hundred dots.
  meaning() {
    const { wrong, right, verdict, frequencies, called } = this.release.meaning;
    const text = (x, y, size, fill, words, weight) =>
      el("text", { x, y, "font-size": size, fill, "font-weight": weight }, words);
    const square = (number, about, x) => {
      const full = [0, 100].includes(+number) ? +number : Math.min(99, Math.max(1, Math.round(+number)));
      const dots = Array.from({ length: 100 }, (_, k) => `M${x + 14 * (k % 10) + 5} ${97 + 14 * Math.floor(k / 10)}h0`);
      const path = (own, stroke) =>
        el("path", { d: own.join(""), stroke, "stroke-width": 9, "stroke-linecap": "round" });
      return [
        path(dots.slice(full), "var(--hatch)"),
        path(dots.slice(0, full), "var(--off)"),
        text(x, 258, 20, "var(--ink)", number, 600),
        text(x, 277, 11, "var(--soft)", about),
      ];
    };
    at("meaning").replaceChildren(
      el("p", {}, frequencies, " ", el("b", { class: `verdict ${verdict}` }, called)),
      el(
        "svg",
        { class: "frequencies", viewBox: "0 0 320 290", "aria-hidden": "true", focusable: "false" },
        text(24, 28, 16, "var(--ink)", `A ${verdict} promise`, 600),
        text(24, 76, 13, "var(--ink)", "Promised: the worst case", 600),
        ...square(wrong, "If you did not", 24),
        ...square(right, "If you did", 174),
      ),
    );
  }

  // All trips of a person, in this release and in a year of such releases.
  people() {
    const { people } = this.release;
    at("people").hidden = !people;
    if (!people) return;
    at("people-words").replaceChildren(...people.said.map((sentence) => el("p", {}, sentence)));
    const heads = ["Trips a week", "Releases", "Trips in all", "Epsilon", "Points to the person, of 100", "Promise"];
    const cell = (text, i) => el("td", { class: i < 5 ? "number" : null }, text);
    at("people-table").replaceChildren(
      el(
        "table",
        {},
        el("caption", { class: "hidden" }, "What the promise is worth for all trips of one person"),
        el(
          "thead",
          {},
          el("tr", {}, ...heads.map((text, i) => el("th", { scope: "col", class: i < 5 ? "number" : null }, text))),
        ),
        el(
          "tbody",
          {},
          ...people.rows.map(({ week, releases, trips, epsilon, believed: [wrong, right], verdict }) =>
            el(
              "tr",
              {},
              ...[
                number(week),
                number(releases),
                number(trips),
                epsilon,
                right === undefined ? "" : `${wrong} if not there, ${right} if there`,
                verdict,
              ].map(cell),
            ),
          ),
        ),
      ),
    );
  }

  noise() {
    const { release, words } = this;
    const rows = release.sets.measurements.map((table) =>
      el(
        "tr",
        {},
        el("td", {}, words.title(table)),
        el("td", { class: "number" }, number(table.rows)),
        el("td", { class: "number" }, `± ${number(table.half)}`),
        el("td", { class: "number" }, String(table.mean_error)),
        el("td", { class: "number" }, release.every_cell ? "any" : number(table.smallest)),
        el("td", { class: "number" }, release.every_cell ? "none" : words.absent(table)),
        el("td", {}, table.noise),
      ),
    );
    const heads = [
      ["Table"],
      ["Counts", 1],
      ["95 % error bound", 1],
      ["Mean error", 1],
      ["Smallest published", 1],
      ["Not published (95 %)", 1],
      ["Noise"],
    ];
    at("noise").replaceChildren(
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            ...heads.map(([text, right]) => el("th", { scope: "col", class: right ? "number" : null }, text)),
          ),
        ),
        el("tbody", {}, ...rows),
      ),
    );
  }

  selectors(changed) {
    if (changed?.every((each) => ["sort", "by", "page", "difference", "flows", "order"].includes(each))) return;
    if (
      changed?.every((each) => ["find", "page"].includes(each)) &&
      at("find") &&
      at("find").value === this.view.find
    ) {
      at("clear").hidden = !this.view.find && this.view.place === null && this.view.time === null;
      return;
    }
    const { view, release, words } = this,
      found = [];
    const option = ([value, text], chosen) => el("option", { value, selected: String(value) === String(chosen) }, text);
    const select = (id, label, options, chosen, change) =>
      el(
        "div",
        { class: "field" },
        el("label", { for: id }, label),
        el(
          "select",
          { id, onchange: (event) => change(event.target.value) },
          ...options.map(([value, text, group]) =>
            group
              ? el("optgroup", { label: text }, ...group.map((each) => option(each, chosen)))
              : option([value, text], chosen),
          ),
        ),
      );
    if (release.sources.length > 1) found.push(this.sources());
    found.push(
      select(
        "pick-table",
        "Show",
        release.tables.map((table, i) => [i, words.title(table)]),
        release.tables.indexOf(view.table),
        (i) => this.set({ table: release.tables[i] }, "#pick-table"),
      ),
    );
    for (const column of [...release.partition, ...view.extras]) {
      const own = release.partition.includes(column),
        labels = own ? (release.labels[column] ?? []) : view.table.labels(column);
      const plainOptions = labels.map((_, code) => [
        code,
        own
          ? words.label(view.table, column, code, view.part)
          : view.table.kind(column) === "time"
            ? words.span(view.table, code)
            : words.label(view.table, column, code, view.part),
      ]);
      const options = column === view.day ? this.dayOptions(view.part[column]) : plainOptions;
      found.push(
        select(`pick-${column}`, capital(words.columnTitle(column)), options, view.part[column], (code) =>
          this.set({ part: { ...view.part, [column]: +code } }, `#${CSS.escape(`pick-${column}`)}`),
        ),
      );
    }
    if (view.day && (release.labels[view.day]?.length ?? 0) > 1) {
      found.push(
        select("pick-compare", "Compare with", [["", "nothing"], ...this.dayOptions(view.vs)], view.vs ?? "", (code) =>
          this.set({ vs: code === "" ? null : +code, difference: code !== "" && view.difference }, "#pick-compare"),
        ),
      );
    }
    const timed = [view.table, ...release.tables].find(
      (table) => table.axes.length === 2 && table.has("location") && table.has("time"),
    );
    if (timed)
      found.push(
        select(
          "pick-time",
          "Time",
          [["", "whole day"], ...timed.times.map((label, i) => [label, words.span(timed, i + 1)])],
          view.time !== null && view.timeIn(timed) ? timed.times[view.timeIn(timed) - 1] : "",
          (time) => this.set({ time: time || null }, "#pick-time"),
        ),
      );
    if (release.places.length) found.push(this.search());
    const typing = document.activeElement?.id === "find" ? [at("find").selectionStart, at("find").selectionEnd] : null;
    const focus = document.activeElement?.closest?.("#selectors") ? document.activeElement.id : null;
    at("selectors").replaceChildren(...found);
    if (focus) at(focus)?.focus();
    if (typing && at("find")) at("find").setSelectionRange(...typing);
  }

  // Days, and several of them at once: kinds of day, weeks, months, and what was chosen besides.
  dayOptions(chosen) {
    const { periods } = this.release,
      titled = (code) => [code, capital(periods.title(code))],
      days = periods.days.map((_, code) => titled(code));
    const groups = periods.offered.map(([title, codes]) => ["", title, codes.map(titled)]);
    if (!groups.length) return days;
    const known = groups.flatMap(([, , options]) => options.map(([code]) => code));
    const own = chosen >= days.length && !known.includes(chosen) ? [["", "Chosen", [titled(chosen)]]] : [];
    return [...own, ["", "Days", days], ...groups];
  }

  // The change of a cell from the days that it is compared with: its value, what noise alone leaves open, and what
  // days like these do. Days of the week are compared alike. Without a value where a day is not published.
  change(table, wanted, part = this.view.part) {
    const { view, release } = this,
      { periods } = release,
      [after, before] = [view.part[view.day], view.vs].map((code) => periods.of(code)),
      panels = [after, before].map((days) => panelOf(table, part, wanted, days)),
      complete = panels.every((panel) => panel.missing.every((most) => most === 0)),
      mean = ({ counts }) => total(counts) / counts.length,
      value = complete ? mean(panels[0]) - mean(panels[1]) : null;
    if (!complete || table.estimate) return { value, noise: null, days: null };
    if (!periods.dated) {
      const weights = panels.flatMap(({ counts }, i) => counts.map(() => (i ? -1 : 1) / counts.length));
      const both = (name) => panels.flatMap((panel) => panel[name]);
      const panel = { counts: both("counts"), missing: both("missing"), noise: both("noise"), gaussian: table.gaussian };
      return { value, noise: contrast(panel, weights, { freedom: 0 }).noise, days: null };
    }
    const more = table.complete && periods.days.length > after.length + before.length;
    const history = more ? panelOf(table, part, wanted, periods.of(periods.code("all"))) : null;
    const found = changeOf(...panels, history);
    const exact = after.length === 1 && before.length === 1 && !(table instanceof Sums);
    if (exact) found.noise = [value - table.change, value + table.change];
    if (exact && found.days) // the exact interval of the noise may be wider than that of its variance
      found.days = [Math.min(found.days[0], found.noise[0]), Math.max(found.days[1], found.noise[1])];
    return found;
  }

  // Estimates or measurements.
  sources() {
    const { release, view } = this,
      titles = { estimates: "Estimates", measurements: "Measurements" };
    const choose = (source) => () => {
      if (source !== release.source) this.set({ numbers: source, table: view.swapped(source) }, `#numbers-${source}`);
    };
    return el(
      "div",
      { class: "field", role: "group", "aria-labelledby": "sources-title" },
      el("span", { class: "label", id: "sources-title" }, "Numbers"),
      el(
        "div",
        { class: "switch" },
        ...release.sources.map((source) =>
          el(
            "button",
            {
              type: "button",
              id: `numbers-${source}`,
              "aria-pressed": String(source === release.source),
              onclick: choose(source),
            },
            titles[source],
          ),
        ),
      ),
    );
  }

  // Typing narrows the rows down; Enter picks the first of them.
  search() {
    const { view, release, words } = this;
    const clear = el(
      "button",
      {
        type: "button",
        id: "clear",
        hidden: view.place === null && !view.find && view.time === null,
        onclick: () => this.set({ place: null, find: "", time: null }, "#find"),
      },
      "Clear",
    );
    const input = el("input", {
      id: "find",
      type: "search",
      value: view.find,
      placeholder: "Type a name; Enter selects the first",
      autocomplete: "off",
      spellcheck: "false",
      maxlength: 200,
      oninput: (event) => this.set({ find: event.target.value }),
      onkeydown: (event) => {
        if (event.key === "Enter") this.pickFirst(event.target.value);
      },
    });
    return el(
      "div",
      { class: "field grows" },
      el(
        "label",
        { for: "find" },
        view.place === null ? "Find a place" : `Place: ${words.place(view.place, view.part).slice(0, 60)}`,
      ),
      el("div", { class: "tools" }, el("div", { class: "grow" }, input), clear),
    );
  }

  pickFirst(text) {
    const { view, release, words } = this,
      find = plain(text),
      rows = this.cards[0].rows ?? [];
    const { down } = this.cards[0].cells,
      places =
        view.table.kind(down) === "location" ? rows.map((code) => view.table.labels(down)[code]) : release.places;
    const named = (label) => plain(words.place(label, view.part));
    const found =
      places.find((label) => named(label) === find) ??
      places.find((label) => named(label).startsWith(find)) ??
      places.find((label) => named(label).includes(find));
    if (!find || found === undefined) {
      this.say("No place with that name is published here");
      return;
    }
    this.set({ place: found, find: "" }, "#find");
    this.say(at("summary").textContent);
  }

  // The view in one sentence.
  summary() {
    const { view, release, words } = this,
      table = view.table,
      said = [],
      total = release.total?.of(view.part);
    const where = [...release.partition]
      .map((column) => words.label(table, column, view.part[column], view.part))
      .filter(Boolean);
    if (where.length) said.push(el("b", {}, where.map(capital).join(", ")), ": ");
    if (total)
      said.push(
        `${where.length ? "about" : "About"} ${number(Math.round(total.count))} ${words.counted(total.count)}${view.several ? " a day" : ""} in total${total.low === null ? "" : ` (${number(Math.round(total.low))} to ${number(Math.round(total.high))})`}. `,
      );
    if (view.place !== null) {
      const side = ["on", "off", ""].includes(sideOf(table)) ? sideOf(table) : "on";
      const timed = release.like(table, ["location", "time"], side),
        whole = release.like(table, ["location"], side),
        code = timed ? view.timeIn(timed) : null;
      const used = code !== null && timed ? timed : whole;
      said.push(el("b", {}, bidi(words.place(view.place, view.part))));
      const place = used ? view.placeIn(used) : null;
      if (place !== null) {
        const spot = used.cells(view.part).spot(place, used === timed && code !== null ? code : 0);
        said.push(
          `, ${words.side(used).toLowerCase()} ${code !== null ? words.span(timed, code) : words.whole(view)}: `,
          el("b", { id: "answer" }, words.sentence(used, spot)),
          spot.low === null && spot.count !== SUPPRESSED ? "." : ` (${words.interval(used)}).`,
        );
        if (view.vs !== null) said.push(" ", this.changed(used, place, used === timed && code !== null ? code : 0));
      } else
        said.push(
          used ? ": not published in this table, which has other areas." : ": select a time to read its count.",
        );
    } else said.push("Select a place to read its count.");
    at("summary").replaceChildren(...said);
  }

  // The change of the selected place, in a sentence.
  changed(table, place, code) {
    const { view, words } = this,
      { down, across } = table.cells(view.part);
    const { text, noise, days } = words.change(
      this.change(table, { [down]: place, ...(across ? { [across]: code } : {}) }),
    );
    const then = words.label(table, view.day, view.vs, view.part);
    if (text === "unknown") return `The change from ${then} is not known: a day is not published.`;
    const ends = [noise && `noise alone ${noise}`, days && `noise and chance between days ${days}`].filter(Boolean);
    return `Change from ${then}: ${text}${ends.length ? ` (${ends.join("; ")})` : ""}.`;
  }

  // --- small things ----------------------------------------------------------------------------------------------------

  setTheme() {
    const dark = this.view.theme ? this.view.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    const button = at("theme");
    button.textContent = dark ? "Light" : "Dark";
    button.setAttribute("aria-label", dark ? "Change to light colours" : "Change to dark colours");
    button.onclick = () => {
      this.view.theme = dark ? "light" : "dark";
      this.setTheme();
      this.repaint();
    };
  }

  tip(event, head, ...lines) {
    const tip = at("tip");
    tip.hidden = !event;
    if (!event) return;
    tip.replaceChildren(el("b", {}, bidi(head)), ...lines.filter(Boolean).map((line) => el("div", {}, line)));
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(window.innerWidth - box.width - 8, event.clientX + 14))}px`;
    tip.style.top = `${event.clientY + 18 + box.height > window.innerHeight ? event.clientY - box.height - 12 : event.clientY + 18}px`;
  }

  say(text) {
    at("said").textContent = text;
  }

  trouble(text) {
    at("trouble").textContent = text;
    at("trouble").hidden = false;
  }
}

(async () => {
  try {
    const release = new Release(await unpacked(at("release").textContent));
    window.tapveil = new App(release);
  } catch (error) {
    at("trouble").textContent =
      "This browser cannot display the page. It may be too old: a version from 2023 or later is needed. All numbers are in the same folder: see README.md.";
    at("trouble").hidden = false;
    throw error;
  }
})();
