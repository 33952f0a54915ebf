// A place over the day, or all of them: steps, with the 95 % interval of the true count as a band.

class Profile {
  static shows = ["table", "part", "vs", "place", "time", "numbers"];

  constructor(app) {
    this.app = app;
    this.plot = at("profile-plot");
    this.plot.addEventListener("pointermove", (event) => this.hover(event));
    this.plot.addEventListener("pointerleave", () => this.app.tip());
  }

  draw() {
    const { view, words, release } = this.app;
    const chosen = view.place === null ? [] : this.linesOf(view.place),
      place = chosen.length ? view.place : null;
    this.lines = place === null ? this.linesOf(null) : chosen;
    at("profile").hidden = !this.lines.length;
    if (!this.lines.length) return;
    const named = place === null ? "All places" : words.place(place, view.part);
    at("profile-title").replaceChildren(bidi(named), " over the day");
    const absent = words.absent(this.lines[0].table);
    at("profile-note").textContent =
      place === null
        ? view.place === null
          ? "Select a place to see its own day."
          : "Times by place are not published here: this is all places together."
        : `Bands: ${this.lines[0].table.estimate ? "intervals, measured to contain the true count for about 19 of 20 cells, not proved" : "95 % intervals of the true counts"}.${this.app.release.every_cell ? "" : ` Hatched: not published, ${absent}.`}`;
    this.paint(named);
    at("profile-legend").replaceChildren(
      ...this.lines.map((line) => el("span", { class: "item" }, sample(line), line.title)),
    );
  }

  // Tap-on and tap-off at the same detail, on the day and on the one it is compared with.
  linesOf(place) {
    const { view, release, words, colours } = this.app,
      kinds = place === null ? ["time"] : ["location", "time"],
      found = [];
    const own = sideOf(view.table);
    const sides = own === "on" || own === "off" || own === "both" ? ["on", "off"] : [own];
    for (const side of sides) {
      const table = release.like(view.table, kinds, side);
      if (!table || (place !== null && table.placeCode(place) === null)) continue;
      const days = view.vs === null ? [view.part] : [view.part, view.other];
      days.forEach((part, i) => {
        const cells = table.cells(part);
        found.push({
          table,
          cells,
          dashed: i > 0,
          own: i === 0 && (side === own || sides.length === 1 || (own === "both" && side === "on")),
          colour: side === "off" ? colours.off : colours.on,
          count: (code) => (place === null ? cells.at(code) : cells.at(table.placeCode(place), code)),
          spot: (code) => (place === null ? cells.spot(code) : cells.spot(table.placeCode(place), code)),
          title: [words.side(table), view.day && words.label(table, view.day, part[view.day], part)]
            .filter(Boolean)
            .join(", "),
        });
      });
    }
    return found.sort((a, b) => b.own - a.own);
  }

  paint(named) {
    const { colours, view, words } = this.app;
    const width = Math.max(300, this.app.width["profile-plot"]),
      height = 300,
      left = 52,
      bottom = 30,
      top = 10,
      right = 10;
    const first = clock(this.lines[0].table.times[0]),
      last = clock(this.lines[0].table.until.at(-1));
    const most = Math.max(
      10,
      ...this.lines.map((line) =>
        Math.max(
          ...line.table.times.map((_, i) => {
            const { count, high } = line.spot(i + 1);
            return count === SUPPRESSED ? (line.own ? line.table.absent : 0) : (high ?? count);
          }),
        ),
      ),
    );
    const x = (minute) => left + ((minute - first) / (last - first)) * (width - left - right);
    const y = (count) => height - bottom - (count / most) * (height - bottom - top);
    this.x = { first, last, left, width, right };
    const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": this.description(named) });
    const hatch = el(
      "pattern",
      { id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
      el("rect", { width: 6, height: 6, fill: "none" }),
      el("line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: colours.stroke, "stroke-width": 2 }),
    );
    svg.append(el("defs", {}, hatch));
    for (const tick of nice(most)) {
      svg.append(el("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), stroke: colours.rule }));
      svg.append(el("text", { x: left - 8, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    }
    const hours = width < 420 ? 6 : 3;
    for (let minute = Math.ceil(first / 60 / hours) * 60 * hours; minute <= last; minute += 60 * hours) {
      svg.append(
        el(
          "text",
          {
            x: x(minute),
            y: height - 9,
            "text-anchor": minute === last ? "end" : minute === first ? "start" : "middle",
          },
          `${String(minute / 60).padStart(2, "0")}:00`,
        ),
      );
      svg.append(
        el("line", {
          x1: x(minute),
          x2: x(minute),
          y1: height - bottom,
          y2: height - bottom + 5,
          stroke: colours.soft,
        }),
      );
    }
    const chosen = view.timeIn(this.lines[0].table);
    if (chosen) {
      const table = this.lines[0].table,
        from = x(clock(table.times[chosen - 1])),
        to = x(clock(table.until[chosen - 1]));
      svg.append(
        el("rect", {
          x: from,
          y: top,
          width: Math.max(2, to - from),
          height: height - bottom - top,
          fill: colours.accent,
          opacity: 0.14,
        }),
      );
    }
    for (const line of [...this.lines].reverse()) this.line(svg, line, x, y);
    svg.append(el("line", { x1: left, x2: width - right, y1: y(0), y2: y(0), stroke: colours.soft }));
    this.plot.replaceChildren(svg);
  }

  line(svg, line, x, y) {
    const { table, colour } = line,
      bins = table.times.map((label, i) => ({
        from: x(clock(label)),
        to: x(clock(table.until[i])),
        ...line.spot(i + 1),
      }));
    const group = el("g", {}),
      above = (n) => y(Math.max(0, n));
    let run = [];
    const flush = () => {
      if (!run.length) return;
      const upper = run.map(
        (bin) => `${bin.from} ${above(bin.high ?? bin.count)} ${bin.to} ${above(bin.high ?? bin.count)}`,
      );
      const lower = [...run]
        .reverse()
        .map((bin) => `${bin.to} ${above(bin.low ?? bin.count)} ${bin.from} ${above(bin.low ?? bin.count)}`);
      group.append(
        el("path", { d: `M${upper.join("L")}L${lower.join("L")}Z`, fill: colour, opacity: line.dashed ? 0.1 : 0.2 }),
      );
      group.append(
        el("path", {
          d: `M${run.map((bin) => `${bin.from} ${above(bin.count)} ${bin.to} ${above(bin.count)}`).join("L")}`,
          fill: "none",
          stroke: colour,
          "stroke-width": line.own ? 2.2 : 1.6,
          "stroke-dasharray": line.dashed ? "4 3" : null,
          "stroke-linejoin": "round",
        }),
      );
      run = [];
    };
    for (const bin of bins) {
      if (bin.count !== SUPPRESSED) {
        run.push(bin);
        continue;
      }
      flush();
      if (line.own)
        group.append(
          el("rect", {
            x: bin.from,
            width: Math.max(0.5, bin.to - bin.from),
            y: y(table.absent),
            height: y(0) - y(table.absent),
            fill: "url(#hatch)",
          }),
        );
    }
    flush();
    svg.append(group);
  }

  description(named) {
    const { words } = this.app;
    return this.lines
      .map((line) => {
        const counts = line.table.times.map((_, i) => line.count(i + 1)),
          most = Math.max(...counts),
          shown = counts.filter((count) => count !== SUPPRESSED).length;
        return (
          `${named}, ${line.title}: ${shown} of ${counts.length} times ${line.table.estimate ? "estimated" : "published"}` +
          (shown
            ? `, most at ${words.span(line.table, counts.indexOf(most) + 1)} with ${words.sentence(line.table, line.spot(counts.indexOf(most) + 1))}`
            : "")
        );
      })
      .join(". ");
  }

  hover(event) {
    if (!this.lines.length) return;
    const { words } = this.app,
      box = this.plot.getBoundingClientRect(),
      { first, last, left, width, right } = this.x;
    const minute = first + ((event.clientX - box.left - left) / (width - left - right)) * (last - first);
    const codes = this.lines.map((line) => binOf(line.table, minute));
    if (!codes.every(Boolean)) {
      this.app.tip();
      return;
    }
    const said = this.lines.map((line, i) => {
      const same = line.table.times.join() === this.lines[0].table.times.join();
      return `${line.title}${same ? "" : `, ${words.span(line.table, codes[i])}`}: ${words.sentence(line.table, line.spot(codes[i]))}`;
    });
    this.app.tip(event, words.span(this.lines[0].table, codes[0]), ...said);
  }
}

// The bin of a minute; 0 where there is none.
function binOf(table, minute) {
  return table.times.findIndex((label, i) => clock(label) <= minute && minute < clock(table.until[i])) + 1;
}

function sample(line) {
  return el(
    "svg",
    { width: 26, height: 12, "aria-hidden": "true" },
    el("rect", { y: 1, width: 26, height: 10, fill: line.colour, opacity: line.dashed ? 0.12 : 0.22 }),
    el("line", {
      x1: 0,
      x2: 26,
      y1: 6,
      y2: 6,
      stroke: line.colour,
      "stroke-width": 2,
      "stroke-dasharray": line.dashed ? "4 3" : null,
    }),
  );
}

// Four or five round numbers up to the largest.
function nice(most) {
  const rough = most / 4,
    power = 10 ** Math.floor(Math.log10(rough)),
    step = Math.max(1, [1, 2, 5, 10].find((n) => n * power >= rough) * power);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}
