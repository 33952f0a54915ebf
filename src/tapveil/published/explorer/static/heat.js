// The heat map: places down, times across. Only the rows in sight are drawn, however many there are.

const MOST_ACROSS = 60;

class Heat {
  static shows = ["table", "part", "vs", "place", "time", "find", "sort", "difference", "numbers"];

  constructor(app) {
    this.app = app;
    this.canvas = at("heat-canvas");
    this.scroll = at("heat-scroll");
    this.focus = null;
    this.scroll.addEventListener("scroll", () => this.paint());
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.app.tip());
    this.canvas.addEventListener("click", (event) => this.pick(this.cellAt(event)));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("focus", () => this.paint());
    this.canvas.addEventListener("blur", () => this.paint());
    this.sorting = el("select", {
      "aria-label": "Order of the rows",
      onchange: () => app.set({ sort: this.sorting.value }),
    });
    this.showing = el(
      "button",
      { type: "button", "aria-pressed": "false", onclick: () => app.set({ difference: !app.view.difference }) },
      "Show difference",
    );
    at("heat-tools").append(this.showing, this.sorting);
  }

  draw() {
    const { view, words, release } = this.app;
    const table = view.table;
    this.cells = table.cells(view.part);
    this.otherCells = view.other ? table.cells(view.other) : null;
    this.rows = this.ordered();
    this.across = this.columns();
    this.scale = view.comparing
      ? new Difference(this.app.colours, this.largestDifference())
      : new Scale(this.app.colours, Math.max(1, Math.min(table.smallest, this.mostOf())), this.mostOf());
    at("heat-title").textContent = words.title(table);
    const among =
      this.cells.across && table.kind(this.cells.across) !== "time" && this.across.length < this.cells.columns.size;
    at("heat-note").replaceChildren(
      view.comparing && this.cells.across
        ? `Change from ${words.label(table, view.day, view.vs, view.part)} to ${words.label(table, view.day, view.part[view.day], view.part)}, where both are published${view.several || release.periods.several(view.other) ? " on every day" : ""}.`
        : `${view.several ? `${capital(words.label(table, view.day, view.part[view.day], view.part))}: ` : ""}${plural(this.cells.size, table.estimate ? "estimate" : "count")} ${table.estimate ? "above 0" : "published"} in ${plural(this.rows.length, "row")}${this.rows.length > 24 ? ", scroll for more" : ""}${release.every_cell ? "" : `; hatched: not published, ${words.absent(table)}`}${view.several && !release.every_cell && !table.estimate ? "; with a corner: some days are not published, and what is listed is drawn" : ""}.`,
      this.cells.across && table.kind(this.cells.across) !== "time"
        ? ` Down: ${words.columnTitle(this.cells.down)}; across: ${words.columnTitle(this.cells.across)}.`
        : "",
      view.comparing && table.estimate ? ` ${CHANGES_OF_ESTIMATES}` : "",
      among ? ` Across: the ${this.across.length} busiest of ${this.cells.columns.size}.` : "",
      view.find ? ` ${plural(this.rows.length, "row")} match “${view.find}”.` : "",
    );
    this.showing.hidden = view.vs === null || !this.cells.across;
    this.sorting.hidden = table.kind(this.cells.down) === "time";
    this.showing.setAttribute("aria-pressed", String(view.difference));
    const orders = {
      busiest: this.whole || !this.cells.across ? "Busiest first" : "Largest published sum first",
      ...(this.cells.across ? { shown: shownOrder(view, table) } : {}),
      name: "By name",
      ...(view.vs !== null ? { difference: "Largest change first" } : {}),
    };
    this.sorting.replaceChildren(
      ...Object.entries(orders).map(([value, text]) => el("option", { value, selected: view.sort === value }, text)),
    );
    this.canvas.setAttribute(
      "aria-label",
      `${words.title(table)}: ${plural(this.rows.length, "row")} by ${plural(this.across.length, "column")}`,
    );
    if (this.focus && (this.focus.row >= this.rows.length || this.focus.column >= this.across.length))
      this.focus = null;
    this.layout();
    this.reveal();
    this.paint();
    if (!this.cells.across)
      at("heat-legend").replaceChildren(
        `The thin line at the end of a bar is the ${words.interval(table)}.${table.from < 0 ? " Negative numbers have no bar." : ""}`,
        this.otherCells ? ` The vertical mark: ${words.label(table, view.day, view.vs, view.part)}.` : "",
      );
    else
      legend(
        at("heat-legend"),
        this.app,
        this.scale,
        view.comparing
          ? `more: ${words.label(table, view.day, view.part[view.day], view.part)}`
          : release.counted + (view.several ? " a day" : ""),
        view.comparing ? "not published on one of the days" : `not published: ${words.absent(table)}`,
      );
  }

  // Each place that has any published number here, in its order.
  ordered() {
    const { view, release, words } = this.app,
      table = view.table;
    const whole =
      this.cells.across && table.kind(this.cells.down) === "location"
        ? release.like(table, ["location"], sideOf(table))
        : null;
    this.whole = whole;
    this.wholeCells = this.whole?.cells(view.part);
    const codes = new Set([
      ...this.cells.lines.keys(),
      ...(this.wholeCells?.lines.keys() ?? []),
      ...(this.otherCells?.lines.keys() ?? []),
    ]);
    const find = plain(view.find);
    const rows = [...codes].filter(
      (code) => !find || plain(words.label(table, this.cells.down, code, view.part)).includes(find),
    );
    const busy = new Map(
      rows.map((code) => {
        const count = this.wholeCells?.at(code) ?? SUPPRESSED;
        return [code, count === SUPPRESSED ? (this.cells.sums.get(code) ?? SUPPRESSED) : count];
      }),
    );
    if (table.kind(this.cells.down) === "time")
      return [...table.times.map((_, i) => i + 1), ...(codes.has(0) ? [0] : [])];
    if (view.sort === "shown" && this.cells.across) {
      const time = table.kind(this.cells.across) === "time" ? view.timeIn(table) : null;
      const value = (code) => (time === null ? (this.cells.sums.get(code) ?? SUPPRESSED) : this.cells.at(code, time));
      return rows.sort((a, b) => value(b) - value(a) || a - b);
    }
    if (view.sort === "name") return rows.sort(byName(table.labels(this.cells.down)));
    if (view.sort === "difference" && this.otherCells) {
      const change = new Map(rows.map((code) => [code, this.changeOf(code)]));
      return rows.sort((a, b) => change.get(b) - change.get(a) || a - b);
    }
    return rows.sort((a, b) => busy.get(b) - busy.get(a) || a - b);
  }

  // The largest change of a single number that its noise does not explain.
  changeOf(code) {
    let most = 0;
    const around = ({ low, high }) => (low === null ? 0 : (high - low) / 2);
    for (let i = 0; i < (this.cells.across ? this.app.view.table.labels(this.cells.across).length : 1); i++) {
      const [one, two] = [this.cells.spot(code, i), this.otherCells.spot(code, i)];
      if (one.count !== SUPPRESSED && two.count !== SUPPRESSED)
        most = Math.max(most, Math.abs(one.count - two.count) - around(one) - around(two));
    }
    return most;
  }

  columns() {
    const table = this.app.view.table,
      across = this.cells.across;
    if (!across) return [0];
    if (table.kind(across) !== "time")
      return [...this.cells.columns.entries()]
        .sort((a, b) => (isDay(table, across) ? 0 : b[1] - a[1]) || a[0] - b[0])
        .slice(0, MOST_ACROSS)
        .map(([code]) => code);
    return [...table.times.map((_, i) => i + 1), ...(this.cells.columns.has(0) ? [0] : [])];
  }

  // The same scale on every day, so that the colours of days can be compared.
  mostOf() {
    const { view } = this.app;
    return view.table.most(view.part, view.day);
  }

  largestDifference() {
    let most = 1;
    for (const code of this.rows)
      for (const i of this.across) {
        const d = this.value(code, i);
        if (d !== null && Math.abs(d) > most) most = Math.abs(d);
      }
    return most;
  }

  // A place that was picked elsewhere is brought into sight.
  reveal() {
    const { view } = this.app,
      table = view.table,
      key = `${table.name}\n${view.place}\n${view.sort}`;
    if (key === this.revealed) return;
    this.revealed = key;
    const code = table.kind(this.cells.down) === "location" ? view.placeIn(table) : null;
    const row = code === null ? -1 : this.rows.indexOf(code);
    if (row >= 0) this.show(row);
  }

  show(row) {
    const top = row * this.row,
      bottom = top + this.row - (this.height - this.top - 8);
    if (this.scroll.scrollTop > top) this.scroll.scrollTop = top;
    else if (this.scroll.scrollTop < bottom) this.scroll.scrollTop = bottom;
  }

  // What a cell shows: a count, a difference, or null where it is suppressed.
  value(down, across) {
    const one = this.cells.at(down, across);
    if (!this.app.view.comparing) return one === SUPPRESSED ? null : one;
    return difference(this.cells, this.otherCells, down, across);
  }

  layout() {
    const width = this.app.width["heat-scroll"];
    const times = !this.cells.across || this.app.view.table.kind(this.cells.across) === "time";
    this.top = !this.cells.across ? 6 : times ? 24 : 92;
    this.row = 20;
    this.left = Math.round(Math.min(240, Math.max(104, width * 0.2)));
    this.right = this.whole && width > 700 && !this.app.view.comparing ? 66 : times ? 6 : 44;
    this.cell = Math.max(1.5, (width - this.left - this.right - 8) / this.across.length);
    const tall = Math.min(520, this.top + this.row * Math.max(3, this.rows.length) + 6);
    this.scroll.style.setProperty("--tall", `${tall}px`);
    this.width = width;
    this.height = tall;
    at("heat-room").style.height = `${Math.max(0, this.top + this.row * this.rows.length + 6 - tall)}px`;
  }

  paint() {
    if (!this.rows) return;
    const { colours, view, words } = this.app,
      table = view.table;
    const draw = pen(this.canvas, this.width, this.height);
    const first = Math.floor(this.scroll.scrollTop / this.row),
      shift = -(this.scroll.scrollTop % this.row);
    const last = Math.min(this.rows.length, first + Math.ceil((this.height - this.top) / this.row) + 1);
    draw.font = FONT;
    draw.textBaseline = "middle";
    const gap = this.cell > 7 ? 1 : 0;
    draw.save();
    draw.beginPath();
    draw.rect(0, this.top, this.width, this.height - this.top);
    draw.clip();
    for (let i = first; i < last; i++) {
      const code = this.rows[i],
        y = this.top + shift + (i - first) * this.row;
      draw.fillStyle = this.app.release.every_cell ? colours.paper : colours.hatch(draw);
      draw.fillRect(this.left, y, this.cell * this.across.length, this.row - 1);
      if (this.cells.across)
        this.across.forEach((column, k) => {
          const value = this.value(code, column);
          if (value === null) return;
          draw.fillStyle = this.scale.colour(value);
          draw.fillRect(this.left + k * this.cell, y, this.cell - gap, this.row - 1);
          if (this.cells.partial?.(code, column)) this.corner(draw, this.left + (k + 1) * this.cell - gap, y);
        });
      else this.bar(draw, code, y);
      const chosen = code === view.placeIn(table) && table.kind(this.cells.down) === "location";
      draw.fillStyle = chosen ? colours.accent : colours.ink;
      draw.font = chosen ? "600 " + FONT : FONT;
      draw.textAlign = "left";
      draw.fillText(
        cut(draw, words.label(table, this.cells.down, code, view.part), this.left - 12),
        2,
        y + this.row / 2,
      );
      draw.font = FONT;
      if (this.right > 60) {
        const count = this.wholeCells.at(code);
        draw.fillStyle = colours.soft;
        draw.textAlign = "right";
        const partial = this.wholeCells.partial?.(code) ? "≥ " : "";
        draw.fillText(count === SUPPRESSED ? "—" : partial + number(Math.round(count)), this.width - 8, y + this.row / 2);
      }
      if (chosen) {
        draw.strokeStyle = colours.accent;
        draw.lineWidth = 1.5;
        draw.strokeRect(this.left - 1, y - 1, this.cell * this.across.length + 1, this.row + 1);
      }
    }
    draw.restore();
    this.paintHead(draw);
    if (this.focus && document.activeElement === this.canvas) {
      const y = this.top + shift + (this.focus.row - first) * this.row;
      draw.strokeStyle = colours.focus;
      draw.lineWidth = 3;
      draw.strokeRect(this.left + this.focus.column * this.cell - 1, y - 1, Math.max(this.cell, 5) + 1, this.row + 1);
    }
  }

  // What some of the days do not list.
  corner(draw, right, top) {
    const size = Math.min(7, this.cell - 1);
    draw.beginPath();
    draw.moveTo(right - size, top);
    draw.lineTo(right, top);
    draw.lineTo(right, top + size);
    draw.fillStyle = this.app.colours.paper;
    draw.fill();
    draw.strokeStyle = this.app.colours.soft;
    draw.lineWidth = 0.8;
    draw.stroke();
  }

  // One column alone is drawn as bars, with the interval at their ends.
  bar(draw, code, y) {
    const { colours, view } = this.app,
      table = view.table,
      spot = this.cells.spot(code),
      { count } = spot,
      room = this.cell * this.across.length;
    if (count === SUPPRESSED) return;
    const [low, high] = spot.low === null ? [count, count] : [spot.low, spot.high];
    const most = 1.1 * this.mostOf() + table.half,
      x = (n) => this.left + (room - 70) * (Math.max(0, n) / most);
    draw.fillStyle = colours.paper;
    draw.fillRect(this.left, y, room, this.row);
    draw.fillStyle = sideOf(table) === "off" ? colours.off : colours.on;
    draw.fillRect(this.left, y + 3, Math.max(1, x(count) - this.left), this.row - 7);
    draw.fillStyle = colours.ink;
    draw.fillRect(x(low), y + this.row / 2 - 1, Math.max(1, x(high) - x(low)), 1.5);
    draw.textAlign = "left";
    draw.fillText(amount(count) + (spot.missing ? " listed" : ""), x(Math.max(count, high)) + 6, y + this.row / 2);
    if (this.otherCells && this.otherCells.at(code) !== SUPPRESSED) {
      draw.fillStyle = colours.focus;
      draw.fillRect(x(this.otherCells.at(code)) - 1, y + 1, 2, this.row - 3);
    }
  }

  paintHead(draw) {
    const { colours, view, words } = this.app,
      table = view.table;
    draw.fillStyle = colours.paper;
    draw.fillRect(0, 0, this.width, this.top);
    if (!this.cells.across) return;
    draw.fillStyle = colours.soft;
    draw.textBaseline = "middle";
    if (table.kind(this.cells.across) !== "time") {
      draw.textAlign = "left";
      const names = this.across.map((code) => words.label(table, this.cells.across, code, view.part));
      cutApart(draw, names, 96).forEach((name, k) => {
        if (this.cell < 11 && k % Math.ceil(11 / this.cell)) return;
        draw.save();
        draw.translate(this.left + (k + 0.6) * this.cell, this.top - 5);
        draw.rotate(-Math.PI / 3);
        draw.fillText(name, 0, 0);
        draw.restore();
      });
      return;
    }
    const every = [1, 2, 3, 4, 6, 8, 12].find((n) => (this.cell * table.times.length * n) / 24 > 44) ?? 12;
    const chosen = view.timeIn(table);
    draw.textAlign = "left";
    this.across.forEach((code, k) => {
      const minute = code ? clock(table.times[code - 1]) : -1,
        x = this.left + k * this.cell;
      if (code === chosen) {
        draw.fillStyle = colours.accent;
        draw.fillRect(x, this.top - 5, Math.max(3, this.cell - 1), 4);
        draw.fillStyle = colours.soft;
      }
      if (code && (table.times.length <= 8 || minute % (60 * every) === 0)) {
        draw.fillRect(x, this.top - 7, 1, 5);
        draw.fillText(table.times[code - 1], x, 9);
      }
    });
    if (this.right > 60) {
      draw.textAlign = "right";
      draw.fillText(!view.day ? "all days" : view.several ? "a day" : "whole day", this.width - 8, 9);
    }
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left,
      y = event.clientY - box.top;
    const row = Math.floor((y - this.top + this.scroll.scrollTop) / this.row);
    const column = Math.floor((x - this.left) / this.cell);
    if (y < this.top || row < 0 || row >= this.rows.length || column >= this.across.length) return null;
    return { row, column: Math.max(-1, column) };
  }

  say(cell) {
    const { view, words } = this.app,
      table = view.table,
      code = this.rows[cell.row];
    const place = words.label(table, this.cells.down, code, view.part);
    if (cell.column < 0) return [place, ""];
    const column = this.across[cell.column],
      spot = this.cells.spot(code, column);
    const when = !this.cells.across
      ? ""
      : table.kind(this.cells.across) === "time"
        ? words.span(table, column)
        : `to ${words.label(table, this.cells.across, column, view.part)}`;
    const head = `${place}${when ? ", " + when : ""}`;
    if (!this.otherCells) return [head, words.sentence(table, spot), words.weight(spot)];
    const wanted = { [this.cells.down]: code, ...(this.cells.across ? { [this.cells.across]: column } : {}) };
    return [
      head,
      ...words.compared(table, spot, this.otherCells.spot(code, column), this.app.change(table, wanted), view),
    ];
  }

  hover(event) {
    const cell = this.cellAt(event);
    if (cell) this.app.tip(event, ...this.say(cell));
    else this.app.tip();
  }

  pick(cell) {
    if (!cell) return;
    const { view } = this.app,
      table = view.table,
      changes = {};
    this.focus = { row: cell.row, column: Math.max(0, cell.column) };
    if (table.kind(this.cells.down) === "location") changes.place = table.labels(this.cells.down)[this.rows[cell.row]];
    if (cell.column >= 0 && this.cells.across && table.kind(this.cells.across) === "time")
      changes.time = this.across[cell.column] ? table.times[this.across[cell.column] - 1] : null;
    this.app.set(changes);
  }

  key(event) {
    const steps = {
      ArrowUp: [-1, 0],
      ArrowDown: [1, 0],
      ArrowLeft: [0, -1],
      ArrowRight: [0, 1],
      PageUp: [-20, 0],
      PageDown: [20, 0],
      Home: [0, -1e6],
      End: [0, 1e6],
    };
    if (event.key === "Escape") {
      this.app.set({ place: null, time: null });
      return;
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.pick(this.focus);
      return;
    }
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || !this.rows.length) return;
    event.preventDefault();
    const within = (n, most) => Math.max(0, Math.min(most - 1, n));
    const start = this.focus ?? { row: -step[0], column: -step[1] };
    this.focus = {
      row: within(start.row + step[0], this.rows.length),
      column: within(start.column + step[1], this.across.length),
    };
    this.show(this.focus.row);
    this.paint();
    this.app.say(this.say(this.focus).filter(Boolean).join(": "));
  }
}

// The change of a cell; null where one of the days does not list it.
function difference(one, two, down, across = 0) {
  const counts = [one, two].map((cells) => (cells.partial?.(down, across) ? SUPPRESSED : cells.at(down, across)));
  return counts.includes(SUPPRESSED) ? null : counts[0] - counts[1];
}

// Rows by what they show: at the chosen time, or all that is drawn.
function shownOrder(view, table) {
  const time = table.has("time") ? view.timeIn(table) : null;
  return time === null ? "Largest sum of what is shown first" : `Busiest at ${table.times[time - 1]} first`;
}

// The key to the colours, with the hatching in it: what is not published is part of the picture.
function legend(where, app, scale, unit, hatched) {
  const strip = el("canvas", { role: "img", "aria-label": "Scale of colours" });
  const width = Math.min(300, window.innerWidth - 190),
    draw = pen(strip, width, 30);
  const shades = scale instanceof Difference ? app.colours.diverging : app.colours.ramp;
  shades.forEach((shade, i) => {
    draw.fillStyle = shade;
    draw.fillRect((i * width) / shades.length, 0, width / shades.length + 1, 12);
  });
  draw.font = FONT;
  draw.fillStyle = app.colours.soft;
  const ticks = scale.ticks;
  let free = -10;
  ticks.forEach((tick, i) => {
    const share = scale instanceof Difference ? (scale.share(tick) + 1) / 2 : scale.share(tick);
    const text = (scale instanceof Difference && tick > 0 ? "+" : "") + number(Math.round(tick)),
      size = draw.measureText(text).width;
    const x = Math.max(0, Math.min(width - size, share * width - size / 2));
    const lastOne = width - draw.measureText(number(Math.round(ticks[ticks.length - 1]))).width - 14;
    if (x > free && (i === ticks.length - 1 || x + size < lastOne)) {
      draw.fillText(text, x, 27);
      free = x + size + 8;
    }
  });
  const swatch = el("canvas", { role: "img", "aria-label": "Hatched" }),
    mark = pen(swatch, 26, 14);
  mark.fillStyle = app.colours.hatch(mark);
  mark.fillRect(0, 0, 26, 14);
  where.replaceChildren(el("span", { class: "item" }, strip, unit));
  if (!app.release.every_cell) where.append(el("span", { class: "item" }, swatch, hatched));
}
