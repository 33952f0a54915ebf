// Colours: scales that grow steadily lighter or darker, so that they can be read without distinguishing hues.

// OKLCH, where equal steps look equal, to the screen's red, green and blue.
function screen(lightness, chroma, hue) {
  const a = chroma * Math.cos((hue * Math.PI) / 180),
    b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  return linear.map((x) =>
    Math.round(255 * Math.min(1, Math.max(0, x <= 0.0031308 ? 12.92 * x : 1.055 * x ** (1 / 2.4) - 0.055))),
  );
}

const STEPS = 128;

class Colours {
  constructor() {
    this.read();
  }

  read() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue(name).trim();
    for (const name of ["paper", "ink", "soft", "rule", "hover", "on", "off", "focus", "accent"])
      this[name] = value(`--${name}`);
    this.stroke = value("--hatch");
    const stops = value("--scale")
      .split(",")
      .map((stop) => stop.trim().split(/\s+/).map(Number));
    this.ramp = Array.from({ length: STEPS }, (_, i) => rgb(screen(...between(stops, i / (STEPS - 1)))));
    const [minus, middle, plus] = ["--minus", "--middle", "--plus"].map((name) => fromHex(value(name)));
    this.diverging = Array.from({ length: 2 * STEPS + 1 }, (_, i) => {
      const t = (i - STEPS) / STEPS;
      return rgb(between([middle, t < 0 ? minus : plus], Math.abs(t)).map(Math.round));
    });
    this.patterns = new WeakMap();
  }

  hatch(context) {
    if (!this.patterns.has(context)) {
      const tile = document.createElement("canvas");
      tile.width = tile.height = 12;
      const pen = tile.getContext("2d");
      pen.fillStyle = this.paper;
      pen.fillRect(0, 0, 12, 12);
      pen.strokeStyle = this.stroke;
      pen.lineWidth = 1.6;
      pen.beginPath();
      for (const x of [-6, 0, 6, 12]) {
        pen.moveTo(x, 12);
        pen.lineTo(x + 12, 0);
      }
      pen.stroke();
      const pattern = context.createPattern(tile, "repeat");
      pattern.setTransform(new DOMMatrix().scale(1 / ratio()));
      this.patterns.set(context, pattern);
    }
    return this.patterns.get(context);
  }
}

// The largest of many values: too many to be handed to Math.max at once.
const largest = (things, value, least) => things.reduce((most, thing) => Math.max(most, value(thing)), least);

const ratio = () => Math.max(1, window.devicePixelRatio || 1);
const rgb = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
const fromHex = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));

function between(stops, t) {
  const place = t * (stops.length - 1),
    i = Math.min(stops.length - 2, Math.floor(place)),
    part = place - i;
  return stops[i].map((x, k) => x + part * (stops[i + 1][k] - x));
}

// How much of a colour a number gets. Counts differ by factors, so their scale is one of factors.
class Scale {
  constructor(colours, low, high) {
    this.colours = colours;
    this.low = Math.max(1, low);
    this.high = Math.max(this.low + 1, high);
  }
  share(count) {
    return Math.min(1, Math.max(0, Math.log(Math.max(count, this.low) / this.low) / Math.log(this.high / this.low)));
  }
  colour(count) {
    return this.colours.ramp[Math.round(this.share(count) * (STEPS - 1))];
  }
  get ticks() {
    const found = [this.low];
    for (let power = 1; power <= this.high; power *= 10)
      for (const step of [1, 2, 5])
        if (power * step > this.low * 1.6 && power * step < this.high * 0.7) found.push(power * step);
    const some = found.length > 6 ? found.filter((tick, i) => i === 0 || /^1/.test(String(tick))) : found;
    return [...some, this.high];
  }
}

// Differences: none in the middle, less to one side, more to the other.
class Difference {
  constructor(colours, most) {
    this.colours = colours;
    this.most = Math.max(1, most);
  }
  share(d) {
    return Math.sign(d) * Math.sqrt(Math.min(1, Math.abs(d) / this.most));
  }
  colour(d) {
    return this.colours.diverging[STEPS + Math.round(this.share(d) * STEPS)];
  }
  get ticks() {
    const half = Math.round(this.most / 4);
    return half ? [-this.most, -half, 0, half, this.most] : [-this.most, 0, this.most];
  }
}

// A canvas as large as its box, sharp on every screen; drawing is in the units of the page.
function pen(canvas, width, height) {
  const dots = ratio();
  if (canvas.width !== Math.round(width * dots) || canvas.height !== Math.round(height * dots)) {
    canvas.width = Math.round(width * dots);
    canvas.height = Math.round(height * dots);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const context = canvas.getContext("2d");
  context.setTransform(dots, 0, 0, dots, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

// A text cut to a width, by halving: measuring is slow, so what was cut is remembered.
const cuts = new Map();
function cut(context, text, width, end = false) {
  const kept = (letters) => (end ? "…" + text.slice(text.length - letters) : text.slice(0, letters) + "…"),
    key = `${Math.round(width)}${end}\n${text}`;
  if (cuts.has(key)) return cuts.get(key);
  let found = text;
  if (context.measureText(text).width > width) {
    let low = 0,
      high = text.length;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (context.measureText(kept(middle)).width <= width) low = middle;
      else high = middle - 1;
    }
    found = kept(low);
  }
  if (cuts.size > 5000) cuts.clear();
  cuts.set(key, found);
  return found;
}

// Texts cut to a width; those that would look alike keep their ends.
function cutApart(context, texts, width) {
  const found = texts.map((text) => cut(context, text, width)),
    seen = new Set(),
    twice = new Set(found.filter((text) => seen.size === seen.add(text).size));
  return found.map((text, i) => (twice.has(text) ? cut(context, texts[i], width, true) : text));
}
