// The line of days: a place, or all of them, day by day. A day, or several, can be chosen here.

class Days {
  static shows = ["table", "part", "vs", "place", "time", "numbers"];

  constructor(app) {
    this.app = app;
    this.plot = at("days-plot");
    this.focus = null; // [day from which, day to which] that the keys have come to
    this.held = null;
    this.more = el(
      "button",
      {
        type: "button",
        onclick: () => {
          this.asked = this.points.table;
          app.draw(["time"]);
        },
      },
      "Read all days",
    );
    at("days-tools").append(this.more);
    this.plot.addEventListener("pointermove", (event) => this.hover(event));
    this.plot.addEventListener("pointerleave", () => {
      this.app.tip();
      this.held = null;
    });
    this.plot.addEventListener("pointerdown", (event) => {
      this.held = this.dayAt(event);
    });
    this.plot.addEventListener("pointerup", (event) => {
      const to = this.dayAt(event);
      if (this.held !== null && to !== null) this.choose(this.held, to);
      this.held = null;
    });
    this.plot.addEventListener("keydown", (event) => this.key(event));
    for (const each of ["focus", "blur"]) this.plot.addEventListener(each, () => this.points?.all && this.paint());
  }

  draw() {
    const { view, release, words } = this.app,
      { periods } = release;
    const points = periods.days.length > 1 ? this.found() : null;
    at("days").hidden = !points;
    if (!points) return;
    this.points = points;
    this.more.hidden = Boolean(points.all);
    const named = points.place === null ? "All places" : words.place(points.place, view.part);
    const side = points.side && points.place !== null ? `, ${points.side.toLowerCase()}` : "";
    at("days-title").replaceChildren(bidi(named), ` day by day${side}`);
    at("days-note").textContent = [
      points.code === null ? "" : `${words.span(points.table, points.code)}.`,
      points.all ? this.said() : `The days are in ${plural(points.files, "file")} next to this page.`,
    ].join(" ");
    if (!points.all) {
      this.plot.replaceChildren();
      at("days-legend").replaceChildren();
      return;
    }
    const shown = points.all.filter((point) => point.count !== SUPPRESSED);
    this.plot.setAttribute(
      "aria-label",
      `${named}${side}, day by day: ${number(shown.length)} of ${plural(points.all.length, "day")}${shown.length ? `, from ${amount(shown.reduce((least, point) => Math.min(least, point.count), Infinity))} to ${amount(largest(shown, (point) => point.count, 0))} ${release.counted}` : ""}`,
    );
    this.paint();
    const { colours } = this.app,
      item = (fill, text, opacity) =>
        el(
          "span",
          { class: "item" },
          el(
            "svg",
            { width: 26, height: 12, "aria-hidden": "true" },
            el("rect", { width: 26, height: 12, fill, opacity }),
          ),
          text,
        );
    at("days-legend").replaceChildren(
      item(colours.accent, capital(periods.title(view.part[view.day])), 0.2),
      ...(view.vs === null ? [] : [item(colours.focus, capital(periods.title(view.vs)), 0.25)]),
      ...(periods.dated && points.all.length < 80 ? [el("span", {}, " Hollow: Saturdays, Sundays and holidays.")] : []),
      ...(this.gaps ? [el("span", {}, " A dotted line: days without numbers.")] : []),
    );
  }

  // Which numbers: of the place or of all, of the time or of whole days. {all: [{count, low, high}], table, place, …}
  found() {
    const { view, release } = this.app,
      own = sideOf(view.table),
      side = ["on", "off", ""].includes(own) ? own : "on";
    const by = (kinds) => release.like(view.table, kinds, side);
    const timed = view.time !== null ? by(view.place === null ? ["time"] : ["location", "time"]) : null;
    const code = timed ? view.timeIn(timed) : null;
    const table = code !== null ? timed : view.place === null ? null : by(["location"]);
    const place = table && view.place !== null ? table.placeCode(view.place) : null;
    if (place !== null)
      return this.ofCells(table, view.place, code, { [table.axis("location")]: place });
    if (table && code !== null && table.columns.length === 1) return this.ofCells(table, null, code, {});
    return this.whole(by(["time"]));
  }

  // The numbers of a cell; or how many files they are in, as long as nobody asked for them.
  ofCells(table, place, code, wanted) {
    const { view, words, release } = this.app,
      { periods } = release,
      axis = table.axis("time"),
      own = { ...wanted, ...(axis && code !== null ? { [axis]: code } : {}) };
    const found = { table, place, code, side: words.side(table) };
    const blocks = new Set([...table.spans.values()].map((span) => span.block)),
      waiting = table.complete ? 0 : [...blocks].filter((block) => !block.loaded).length;
    if (waiting && this.asked !== table) return { ...found, all: null, files: waiting };
    const days = periods.days.map((_, day) => day);
    const panel = panelOf(table, view.part, own, days);
    return { ...found, panel, own, all: panel.rows.map((row) => table.spot(row)) };
  }

  // All places: published totals; or sums over all times of the day, with room for times that are not listed.
  whole(table) {
    const { view, release, words } = this.app,
      { periods } = release,
      day = (code) => ({ ...view.part, [view.day]: code }),
      found = { table, place: null, code: null, side: "" };
    if (release.total) {
      const all = periods.days.map((_, code) => release.total.of(day(code)));
      if (all.some(Boolean)) return { ...found, all: all.map((each) => each ?? NOT_PUBLISHED) };
    }
    if (!table?.complete || !table.times.length) return null;
    const all = periods.days.map((_, code) => {
      const { start, end } = table.rowsOf(day(code));
      let [count, noise, listed] = [0, 0, 0];
      for (let row = start; row < end; row++) {
        count += table.counts[row];
        noise += table.noiseOf(row);
        listed += table.codes[table.axes[0]][row] ? 1 : 0;
      }
      const missing = release.every_cell ? 0 : table.times.length - listed;
      if (end === start) return NOT_PUBLISHED;
      if (table.estimate) return { count, low: null, high: null, weight: null };
      const half = Math.ceil(Math.sqrt(noise) * noiseQuantile(table.gaussian));
      return { count, low: Math.max(0, count - half), high: count + half + missing * table.absent, weight: null };
    });
    return { ...found, side: words.side(table), all };
  }

  // The mean of what is chosen, with both of its intervals.
  said() {
    const { view, release, words } = this.app,
      { panel, table } = this.points,
      days = release.periods.several(view.part);
    const base = "The band is the 95 % interval of the noise.";
    if (!days || !panel || table.estimate || !release.periods.dated)
      return this.points.all.some((point) => point.low !== null && point.count !== SUPPRESSED) ? base : "";
    const own = Object.fromEntries(
      ["days", "counts", "missing", "noise"].map((name) => [name, days.map((code) => panel[name][code])]),
    );
    const mean = meanOf({ ...own, gaussian: panel.gaussian }),
      range = (ends) => ends.map((end) => amount(Math.max(0, end))).join(" to ");
    if (Number.isNaN(mean.value)) return `${base} Some of the chosen days are not published.`;
    return `${base} ${capital(words.label(view.table, view.day, view.part[view.day], view.part))}: ${amount(mean.value)} a day; noise alone ${range(mean.noise)}${mean.days ? `; days like these ${range(mean.days)}` : ""}.`;
  }

  paint() {
    const { colours, view, release } = this.app,
      { periods } = release,
      { all, table } = this.points,
      width = Math.max(280, this.app.width["days-plot"]),
      [height, left, right, top, bottom] = [230, 52, 12, 10, 28];
    const absent = (point) =>
      point.count === SUPPRESSED && this.points.panel && !release.from_a_list ? table.absent : 0;
    const most = largest(all, (point) => (point.count === SUPPRESSED ? absent(point) : (point.high ?? point.count)), 10);
    const dates = periods.dated ? periods.days.map((label) => dayOf(label) / 864e5) : periods.days.map((_, i) => i),
      place = []; // days that nobody published take little room
    dates.forEach((date, i) => place.push(i ? place[i - 1] + Math.min(GAP, date - dates[i - 1]) : 0));
    const wide = place.at(-1) + 1;
    const x = (code) => left + ((place[code] + 0.5) / wide) * (width - left - right),
      y = (count) => height - bottom - (Math.max(0, count) / most) * (height - bottom - top),
      half = Math.max(1.5, (width - left - right) / wide / 2);
    const gaps = dates.some((date, i) => i && date - dates[i - 1] > 1);
    Object.assign(this, { x, half, gaps });
    const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
    const mark = (codes, fill, opacity) => {
      const tall = { y: top, height: height - bottom - top };
      for (const code of codes) svg.append(el("rect", { x: x(code) - half, width: 2 * half, ...tall, fill, opacity }));
    };
    for (const tick of nice(most)) {
      svg.append(el("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: colours.rule }));
      svg.append(el("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    }
    if (view.vs !== null) mark(periods.of(view.vs), colours.focus, 0.25);
    mark(periods.of(view.part[view.day]), colours.accent, 0.2);
    this.axis(svg, x, width, height);
    const colour = table && sideOf(table) === "off" ? colours.off : colours.on;
    let run = [];
    const flush = () => {
      if (run.length > 1) {
        const line = (value, codes) => codes.map((code) => `${x(code)} ${y(value(all[code]))}`).join("L");
        const band = `M${line((point) => point.high ?? point.count, run)}L${line((point) => point.low ?? point.count, [...run].reverse())}Z`;
        svg.append(el("path", { d: band, fill: colour, opacity: 0.2 }));
        const path = `M${line((point) => point.count, run)}`;
        svg.append(el("path", { d: path, fill: "none", stroke: colour, "stroke-width": all.length > 120 ? 1.2 : 1.8 }));
      }
      run = [];
    };
    all.forEach((point, code) => {
      if (code && dates[code] - dates[code - 1] > 1) {
        flush();
        const middle = (x(code) + x(code - 1)) / 2,
          gap = { x1: middle, x2: middle, y1: top, y2: height - bottom, "stroke-dasharray": "2 4" };
        svg.append(el("line", { ...gap, stroke: colours.soft }));
      }
      if (point.count === SUPPRESSED) {
        flush();
        if (absent(point))
          svg.append(
            el("rect", {
              x: x(code) - half * 0.7,
              width: half * 1.4,
              y: y(absent(point)),
              height: y(0) - y(absent(point)),
              fill: colours.stroke,
            }),
          );
      } else run.push(code);
    });
    flush();
    if (all.length < 80)
      all.forEach((point, code) => {
        if (point.count === SUPPRESSED) return;
        const free = periods.dated && periods.kindOf(code) !== "weekday";
        const look = { r: 3.4, fill: free ? colours.paper : colour, stroke: colour, "stroke-width": 1.6 };
        svg.append(el("circle", { cx: x(code), cy: y(point.count), ...look }));
      });
    if (this.focus && document.activeElement === this.plot) {
      const [from, to] = [Math.min(...this.focus), Math.max(...this.focus)];
      svg.append(
        el("rect", {
          x: x(from) - half - 1,
          y: top,
          width: x(to) - x(from) + 2 * half + 2,
          height: height - bottom - top,
          fill: "none",
          stroke: colours.focus,
          "stroke-width": 3,
        }),
      );
    }
    svg.append(el("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), stroke: colours.soft }));
    this.plot.replaceChildren(svg);
  }

  // Dates below, as many as there is room for: Mondays or firsts of a month where days are many.
  axis(svg, x, width, height) {
    const { periods } = this.app.release,
      { days } = periods,
      room = Math.max(2, Math.floor(width / 90));
    const all = days.map((label, code) => [label, code]),
      months = all.filter(([label]) => periods.dated && isoOf(label).endsWith("-01")),
      mondays = all.filter(([label]) => periods.dated && dayOf(label).getUTCDay() === 1);
    const many = [
      [100, months],
      [10, mondays],
    ];
    const some = many.find(([most, ticks]) => days.length > most && ticks.length > 1)?.[1] ?? all;
    const every = Math.ceil(some.length / room);
    some.forEach(([label, code], i) => {
      if (i % every) return;
      const text = periods.dated ? TICK.format(dayOf(label)) : label;
      const at = Math.min(width - 30, Math.max(40, x(code)));
      svg.append(el("text", { x: at, y: height - 8, "text-anchor": "middle" }, text));
      const stroke = this.app.colours.soft;
      svg.append(el("line", { x1: x(code), x2: x(code), y1: height - 28, y2: height - 23, stroke }));
    });
  }

  say(code) {
    const { words, release, view } = this.app,
      point = this.points.all[code],
      whole = point.count === SUPPRESSED && this.points.place === null;
    const text = whole ? "not published" : words.sentence(this.points.table ?? view.table, point);
    const holiday = release.holidays.includes(release.periods.days[code]) ? ", holiday" : "";
    return [release.periods.title(code) + holiday, text];
  }

  dayAt(event) {
    if (!this.points?.all) return null;
    const box = this.plot.getBoundingClientRect(),
      scale = Math.max(280, this.app.width["days-plot"]) / box.width,
      where = (event.clientX - box.left) * scale;
    let best = null,
      nearest = this.half + 12;
    this.points.all.forEach((_, code) => {
      const far = Math.abs(this.x(code) - where);
      if (far < nearest) [best, nearest] = [code, far];
    });
    return best;
  }

  hover(event) {
    const code = this.dayAt(event);
    if (code === null) this.app.tip();
    else this.app.tip(event, ...this.say(code));
  }

  // A day, or the mean from one to another.
  choose(from, to) {
    const { periods } = this.app.release,
      [first, last] = [Math.min(from, to), Math.max(from, to)],
      code = first === last ? first : periods.code(`${periods.days[first]}..${periods.days[last]}`);
    this.app.set({ part: { ...this.app.view.part, [this.app.view.day]: code } });
    this.app.say(at("summary").textContent);
  }

  key(event) {
    if (!this.points?.all) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.focus) this.choose(...this.focus);
      return;
    }
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -7, PageDown: 7, Home: -1e6, End: 1e6 }[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { view, release } = this.app,
      last = this.points.all.length - 1,
      start = this.focus ?? [release.periods.of(view.part[view.day])[0], release.periods.of(view.part[view.day])[0]],
      to = Math.max(0, Math.min(last, start[1] + step));
    this.focus = event.shiftKey ? [start[0], to] : [to, to];
    this.paint();
    const [first, end] = this.focus;
    this.app.say(first === end ? this.say(to).join(": ") : `${plural(Math.abs(end - first) + 1, "day")}, to ${release.periods.title(end)}`);
  }
}

const GAP = 3;
const TICK = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });
