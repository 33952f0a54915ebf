// The flow map: each flow starts wide, where trips start, and ends in a point, where they end.

const LABELS = 14;
const HIGH = 0.72;
const OUTSIDE = 0.015;
const NEARER = 0.9;
const MUCH_NEARER = 0.5; // else no flow runs off the edge
const FEWEST_FRAMED = 8; // a few changes are no reason to look at nothing else

class FlowMap extends Ground {
  constructor(app, card) {
    super(app, at("flows-canvas"), card.zooms);
    this.card = card;
  }

  draw(pairs, places, most) {
    const { view } = this.app,
      codes = new Map(places.map((place) => [place.code, place]));
    Object.assign(this, { pairs, places });
    this.place = places.find((place) => place.name === view.place) ?? null;
    const drawn = (pair) =>
      (pairs.then ? Math.abs(pair.count) > pairs.limit : pair.count > 0) &&
      pair.from !== pair.to &&
      codes.has(pair.from) &&
      codes.has(pair.to);
    const own = (pair) => !this.place || pair.from === this.place.code || pair.to === this.place.code;
    const all = pairs.all.filter((pair) => drawn(pair) && own(pair));
    this.number = all.length;
    this.lines = all
      .slice(0, most)
      .map((pair) => ({ pair, from: codes.get(pair.from), to: codes.get(pair.to) }))
      .reverse();
    this.shown = this.lines.reduce((sum, { pair }) => sum + pair.count, 0);
    this.most = Math.max(1e-9, Math.abs(this.lines.at(-1)?.pair.count ?? 1));
    this.scale = new Scale(this.app.colours, Math.abs(this.lines[0]?.pair.count ?? 1), this.most);
    this.busiest = [...places].sort((a, b) => this.volume(b) - this.volume(a));
    this.frame();
    this.paint();
  }

  volume(place) {
    return this.pairs.volume.get(place.code) ?? 0;
  }
  value(place) {
    return this.volume(place) || null;
  }

  // At first as near as what is drawn allows, or most of it, if the rest is far off; it stays so until another mode is
  // chosen.
  frame() {
    const mode = this.app.view.part.mode ?? 0,
      ends = new Map();
    if (this.mode === mode) return;
    this.mode = mode;
    this.near = { zoom: 1, x: 0, y: 0 };
    for (const { from, to, pair } of this.lines)
      for (const place of [from, to]) ends.set(place, (ends.get(place) ?? 0) + Math.abs(pair.count));
    const drawn = [...ends.keys()],
      spans = [0, 1].map((i) => middling(drawn, i, (place) => ends.get(place))),
      most = drawn.filter((place) => spans.every(([low, high], i) => low <= place.middle[i] && place.middle[i] <= high));
    const gains = (places, than, share) =>
      places.length > FEWEST_FRAMED && this.room(places) < share * this.room(than);
    this.framed = gains(most, drawn, MUCH_NEARER) ? most : gains(drawn, this.places, NEARER) ? drawn : null;
  }

  // How much room places take in a picture that is wider than high.
  room(places) {
    const [x, y] = [0, 1].map((i) => places.map((place) => place.middle[i])),
      wide = (along) => Math.max(...along) - Math.min(...along);
    return Math.max(wide(x) * Math.cos((y[0] * Math.PI) / 180) * HIGH, wide(y));
  }

  // The widest flow is as wide as there is room between places.
  thick(count) {
    return 0.7 + this.widest * (Math.abs(count) / this.most);
  }

  colour(line) {
    const { colours } = this.app;
    if (this.pairs.then) return line.pair.count > 0 ? colours.on : colours.off;
    if (!this.place) return this.shade(line.pair.count);
    return line.from === this.place ? colours.on : colours.off;
  }

  // Without the palest colours: lines are thin.
  shade(count) {
    const { ramp } = this.app.colours;
    return ramp[Math.round((0.25 + 0.75 * this.scale.share(Math.abs(count))) * (ramp.length - 1))];
  }

  // A flow keeps to the right of the straight line, so that both directions are seen.
  curve({ from, to }) {
    const [ax, ay] = this.to(from.middle),
      [bx, by] = this.to(to.middle),
      [dx, dy] = [bx - ax, by - ay];
    const far = Math.hypot(dx, dy) || 1,
      bend = Math.min(0.2 * far, 70);
    return { ax, ay, bx, by, far, cx: (ax + bx) / 2 - (dy / far) * bend, cy: (ay + by) / 2 + (dx / far) * bend };
  }

  paint() {
    if (!this.places?.length) return;
    const { colours } = this.app;
    const width = Math.max(280, this.app.width["flows-plot"]),
      height = Math.round(Math.min(640, Math.max(320, width * HIGH)));
    const draw = pen(this.canvas, width, height);
    this.to = this.fit(width, height);
    const far = this.lines.map((line) => this.curve(line).far).sort((a, b) => a - b);
    this.widest = Math.max(3, Math.min(width > 500 ? 14 : 9, 0.3 * (far[far.length >> 1] ?? 30)));
    this.ground(draw);
    for (const line of this.lines) {
      const { ax, ay, bx, by, cx, cy, far } = this.curve(line),
        half = this.thick(line.pair.count) / 2;
      const [nx, ny] = [((cy - ay) / far) * 2 * half, (-(cx - ax) / far) * 2 * half];
      draw.beginPath();
      draw.moveTo(ax + nx, ay + ny);
      draw.quadraticCurveTo(cx + nx * 0.6, cy + ny * 0.6, bx, by);
      draw.quadraticCurveTo(cx - nx * 0.6, cy - ny * 0.6, ax - nx, ay - ny);
      draw.closePath();
      draw.globalAlpha = 0.55 + 0.4 * Math.sqrt(Math.abs(line.pair.count) / this.most);
      draw.strokeStyle = colours.paper; // a thin edge tells a flow from those below it
      draw.lineWidth = 1;
      draw.stroke();
      draw.fillStyle = this.colour(line);
      draw.fill();
    }
    draw.globalAlpha = 1;
    this.dots(draw, width, height);
    this.labels(draw, width, height);
    if (this.focus && document.activeElement === this.canvas) this.ring(draw, this.focus, colours.focus, 3);
  }

  // Areas, where places have some, as a quiet ground.
  ground(draw) {
    const { colours } = this.app;
    for (const place of this.places.filter((each) => each.rings.length)) {
      draw.beginPath();
      for (const ring of place.rings) ring.forEach((corner, i) => draw[i ? "lineTo" : "moveTo"](...this.to(corner)));
      draw.closePath();
      draw.fillStyle = place === this.place ? colours.rule : colours.hover;
      draw.fill("evenodd");
      draw.strokeStyle = colours.rule;
      draw.lineWidth = 1;
      draw.stroke();
    }
  }

  radius(place) {
    const most = this.volume(this.busiest[0]) || 1;
    const small = (this.places.length > 300 ? 0.7 : 1) * (this.app.width["flows-plot"] > 500 ? 1 : 0.65);
    return (1.8 + 5.3 * Math.sqrt(this.volume(place) / most)) * small;
  }

  dots(draw, width, height) {
    const { colours } = this.app;
    for (const place of this.places) {
      const [x, y] = this.to(place.middle),
        radius = place === this.place ? Math.max(6, this.radius(place)) : this.radius(place);
      if (Math.min(x, y, width - x, height - y) < radius + 1) continue; // none is cut by the edge
      draw.beginPath();
      draw.arc(x, y, radius, 0, 7);
      draw.fillStyle = place === this.place ? colours.accent : colours.paper;
      draw.fill();
      draw.strokeStyle = colours.ink;
      draw.lineWidth = 1.1;
      draw.stroke();
    }
  }

  // The names of the busiest, as far as there is room.
  labels(draw, width, height) {
    const { colours, words, view } = this.app,
      taken = [];
    draw.font = FONT;
    draw.textBaseline = "middle";
    const wanted = [...(this.place ? [this.place] : []), ...this.ends()];
    let left = width > 500 ? LABELS : 6;
    for (const place of wanted) {
      const [x, y] = this.to(place.middle);
      if (left <= 0 || x < 0 || y < 8 || x > width || y > height - 8) continue;
      const text = cut(draw, words.place(place.name, view.part), 150),
        size = draw.measureText(text).width,
        away = this.radius(place) + 5;
      const right = x + away + size < width - 4,
        box = [right ? x + away : x - away - size, y - 8, size, 16];
      if (box[0] < 2 || taken.some((other) => overlap(box, other))) continue;
      taken.push(box);
      left--;
      draw.textAlign = "left";
      draw.lineWidth = 4;
      draw.lineJoin = "round";
      draw.strokeStyle = colours.paper;
      draw.strokeText(text, box[0], y);
      draw.fillStyle = place === this.place ? colours.accent : colours.ink;
      draw.fillText(text, box[0], y);
    }
  }

  // The places to name: those at the other end of the largest flows of the selected one; else the ends of the largest
  // flows, and the busiest.
  ends() {
    const largest = [...this.lines].reverse();
    const ends = this.place
      ? largest.map((line) => (line.from === this.place ? line.to : line.from))
      : [...largest.slice(0, 3).flatMap(({ from, to }) => [from, to]), ...this.busiest];
    return [...new Set(ends)].slice(0, 40);
  }

  sayAt(event) {
    const place = this.placeAt(event);
    if (place) return this.say(place);
    const line = this.lineAt(event);
    return line ? this.card.say(line.pair) : null;
  }

  lineAt(event) {
    const box = this.canvas.getBoundingClientRect(),
      [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = null,
      nearest = 7;
    for (const line of this.lines) {
      const { ax, ay, bx, by, cx, cy } = this.curve(line);
      for (let t = 0.06; t < 1; t += 0.06) {
        const s = 1 - t,
          far = Math.hypot(s * s * ax + 2 * s * t * cx + t * t * bx - x, s * s * ay + 2 * s * t * cy + t * t * by - y);
        const edge = Math.max(0, far - (this.thick(line.pair.count) / 2) * s);
        if (edge <= nearest) [best, nearest] = [line, edge];
      }
    }
    return best;
  }

  say(place) {
    const { words, view } = this.app,
      [out, back] = this.card.both(place.code);
    if (this.pairs.then) return [words.place(place.name, view.part), ...this.card.changes(place.code)];
    return [words.place(place.name, view.part), `from here ${this.card.text(out)}`, `to here ${this.card.text(back)}`];
  }

  pick(place) {
    if (!place) return;
    this.focus = place;
    this.app.set({ place: place.name === this.app.view.place ? null : place.name });
    this.app.say(this.say(place).join(": "));
  }

  key(event) {
    if (event.key === "Escape") this.app.set({ place: null });
    else super.key(event);
  }
}

const overlap = ([x, y, width, height], [a, b, wide, tall]) =>
  x < a + wide + 6 && a < x + width + 6 && y < b + tall && b < y + height;

// From where to where most of the weight lies, along one axis.
function middling(places, axis, weight) {
  const along = [...places].sort((a, b) => a.middle[axis] - b.middle[axis]),
    all = along.reduce((sum, place) => sum + weight(place), 0);
  const reach = (ordered) => {
    let left = OUTSIDE * all;
    return ordered.find((place) => (left -= weight(place)) <= 0)?.middle[axis];
  };
  return [reach(along), reach([...along].reverse())];
}
