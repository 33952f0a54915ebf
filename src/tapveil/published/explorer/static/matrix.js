// The matrix: origins down, destinations across, both in the same order.

class Matrix {
  constructor(app, card) {
    this.app = app;
    this.card = card;
    this.canvas = at("matrix-canvas");
    this.focus = null;
    this.canvas.addEventListener("pointermove", (event) => {
      const pair = this.pairAt(event);
      if (pair) this.app.tip(event, ...card.say(pair));
      else this.app.tip();
    });
    this.canvas.addEventListener("pointerleave", () => this.app.tip());
    this.canvas.addEventListener("click", (event) => {
      const pair = this.pairAt(event);
      if (pair) this.pick(pair.from);
    });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    for (const each of ["focus", "blur"]) this.canvas.addEventListener(each, () => this.paint());
  }

  draw(pairs, places, order) {
    this.pairs = pairs;
    const width = Math.max(280, this.app.width["flows-plot"]),
      names = Math.min(190, Math.max(84, width * 0.22)),
      left = Math.ceil(Math.min(names, this.longest(pairs) + 12)),
      above = Math.min(width > 500 ? 160 : 96, this.longest(pairs)),
      top = Math.ceil(0.87 * above + 22);
    const inside = width - left - 0.5 * above; // the last name leans over the edge
    const room = Math.floor(inside / (width > 500 ? 6 : 4));
    const busy = [...pairs.volume.keys()].sort((a, b) => pairs.volume.get(b) - pairs.volume.get(a) || a - b);
    this.codes = busy.slice(0, Math.max(2, room));
    this.number = busy.length;
    if (order === "name") this.codes.sort(byName(pairs.labels));
    if (order === "linked") this.codes = linkedOrder(this.codes, pairs);
    if (order === "area") {
      const along = new Map(places.map((place, _, all) => [place.code, alongTheCurve(place.middle, all)]));
      this.codes.sort((a, b) => (along.get(a) ?? Infinity) - (along.get(b) ?? Infinity) || a - b);
    }
    const cell = Math.min(24, inside / this.codes.length);
    Object.assign(this, { width, left, top, above, cell, height: Math.ceil(top + cell * this.codes.length + 4) });
    const among = new Set(this.codes);
    this.shown = pairs.all.reduce(
      (sum, pair) => sum + (among.has(pair.from) && among.has(pair.to) ? Math.max(0, pair.count) : 0),
      0,
    );
    const most = Math.abs(pairs.all[0]?.count ?? 1);
    this.scale = pairs.then
      ? new Difference(this.app.colours, most)
      : new Scale(this.app.colours, Math.min(most, Math.max(1, pairs.table.smallest)), most);
    if (this.focus && Math.max(...this.focus) >= this.codes.length) this.focus = null;
    this.canvas.setAttribute("aria-label", `Matrix of ${plural(this.codes.length, "origin")} and as many destinations`);
    this.paint();
  }

  // The width of the longest name.
  longest(pairs) {
    const draw = this.canvas.getContext("2d");
    draw.font = FONT;
    return largest([...pairs.volume.keys()], (code) => draw.measureText(this.card.name(code)).width, 60);
  }

  paint() {
    if (!this.codes || this.canvas.hidden) return;
    const { colours, view } = this.app,
      { left, top, above, cell, codes, pairs } = this,
      draw = pen(this.canvas, this.width, this.height);
    const gap = cell > 7 ? 1 : 0,
      names = codes.map((code) => this.card.name(code));
    draw.fillStyle = pairs.table.estimate || this.app.release.every_cell ? colours.hover : colours.hatch(draw);
    draw.fillRect(left, top, cell * codes.length, cell * codes.length);
    const where = new Map(codes.map((code, i) => [code, i]));
    for (const pair of pairs.all) {
      const [row, column] = [where.get(pair.from), where.get(pair.to)];
      if (row === undefined || column === undefined || (pair.count <= 0 && !pairs.then)) continue;
      draw.fillStyle = this.scale.colour(pair.count);
      draw.fillRect(left + column * cell, top + row * cell, cell - gap, cell - gap);
    }
    draw.font = FONT;
    draw.textBaseline = "middle";
    draw.textAlign = "left";
    const chosen = codes.findIndex((code) => pairs.labels[code] === view.place),
      every = Math.ceil(13 / cell),
      [down, across] = [left - 8, above + 2].map((room) => cutApart(draw, names, room));
    names.forEach((_, i) => {
      if (i % every && i !== chosen) return;
      if (chosen >= 0 && i !== chosen && Math.abs(i - chosen) < every) return;
      draw.fillStyle = i === chosen ? colours.accent : colours.ink;
      draw.fillText(down[i], 2, top + (i + 0.5) * cell);
      draw.save();
      draw.translate(left + (i + 0.5) * cell, top - 5);
      draw.rotate(-Math.PI / 3);
      draw.fillText(across[i], 0, 0);
      draw.restore();
    });
    draw.fillStyle = colours.soft;
    draw.fillText("from ↓   to →", 2, 12);
    draw.lineWidth = 1.5;
    draw.strokeStyle = colours.accent;
    if (chosen >= 0) {
      draw.strokeRect(left - 1, top + chosen * cell - 1, cell * codes.length + 1, cell + 1);
      draw.strokeRect(left + chosen * cell - 1, top - 1, cell + 1, cell * codes.length + 1);
    }
    if (this.focus && document.activeElement === this.canvas) {
      draw.strokeStyle = colours.focus;
      draw.lineWidth = 3;
      draw.strokeRect(left + this.focus[1] * cell - 1.5, top + this.focus[0] * cell - 1.5, cell + 2, cell + 2);
    }
  }

  pairAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - this.left) / this.cell),
      row = Math.floor((event.clientY - box.top - this.top) / this.cell);
    if (Math.min(row, column) < 0 || Math.max(row, column) >= this.codes.length) return null;
    return this.pair(row, column);
  }

  pair(row, column) {
    const [from, to] = [this.codes[row], this.codes[column]];
    return { from, to, count: this.pairs.count(from, to) };
  }

  pick(code) {
    const place = this.pairs.labels[code];
    this.app.set({ place: place === this.app.view.place ? null : place });
  }

  key(event) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    if (event.key === "Escape") {
      this.app.set({ place: null });
      return;
    }
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.focus) this.pick(this.codes[this.focus[0]]);
      return;
    }
    const step = steps[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const within = (n) => Math.max(0, Math.min(this.codes.length - 1, n));
    this.focus = this.focus ? this.focus.map((n, i) => within(n + step[i])) : [0, 0];
    this.paint();
    this.app.say(this.card.say(this.pair(...this.focus)).join(": "));
  }
}

// Places that many trips link stand together: not the lines of a timetable, of which the page knows none, but the order
// of Fiedler's vector of the flows, which is found by repeated multiplication.
function linkedOrder(codes, pairs) {
  const size = codes.length,
    where = new Map(codes.map((code, i) => [code, i])),
    links = new Float64Array(size * size),
    sums = new Float64Array(size).fill(1e-9);
  for (const pair of pairs.all) {
    const [a, b] = [where.get(pair.from), where.get(pair.to)];
    if (a === undefined || b === undefined || a === b) continue;
    const link = Math.sqrt(Math.abs(pair.count));
    links[a * size + b] += link;
    links[b * size + a] += link;
    sums[a] += link;
    sums[b] += link;
  }
  const all = sums.reduce((sum, each) => sum + each, 0);
  let vector = Float64Array.from(codes, (_, i) => i - size / 2);
  for (let turn = 0; turn < 300; turn++) {
    const middle = vector.reduce((sum, value, i) => sum + value * sums[i], 0) / all,
      next = new Float64Array(size);
    for (let a = 0; a < size; a++) {
      let sum = 0;
      for (let b = 0; b < size; b++) sum += links[a * size + b] * (vector[b] - middle);
      next[a] = (vector[a] - middle + sum / sums[a]) / 2;
    }
    const long = Math.sqrt(next.reduce((sum, value) => sum + value * value, 0)) || 1;
    vector = next.map((value) => value / long);
  }
  return codes.map((code, i) => [code, vector[i]]).sort((a, b) => a[1] - b[1] || a[0] - b[0]).map(([code]) => code);
}

// How far along Hilbert's curve a place lies: places that are near each other there are near each other in the city.
function alongTheCurve(middle, places) {
  const side = 1024,
    spans = [0, 1].map((i) => {
      const values = places.map((place) => place.middle[i]);
      return [Math.min(...values), Math.max(...values)];
    });
  let [x, y] = middle.map((value, i) => {
    const [low, high] = spans[i];
    return Math.min(side - 1, Math.floor(((value - low) / Math.max(1e-9, high - low)) * side));
  });
  let along = 0;
  for (let half = side / 2; half >= 1; half /= 2) {
    const [right, up] = [x & half ? 1 : 0, y & half ? 1 : 0];
    along += half * half * ((3 * right) ^ up);
    if (!up) {
      if (right) [x, y] = [side - 1 - x, side - 1 - y];
      [x, y] = [y, x];
    }
  }
  return along;
}
