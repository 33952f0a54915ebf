"use strict";
// The release, unpacked: tables of codes and counts, found by the part of the data that they are of.

// Of a cell that is not published; measurements may be negative, but none is so low.
const SUPPRESSED = -(2 ** 52);

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text),
    bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

async function unpacked(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

class Columns {
  constructor(bytes, at) {
    this.bytes = bytes;
    this.at = at;
  }

  next(rows, width, differences) {
    const found = width > 4 ? new Float64Array(rows) : new Uint32Array(rows);
    for (let plane = 0; plane < width; plane++) {
      const start = this.at + plane * rows,
        shift = 8 * plane;
      if (plane > 3) for (let row = 0; row < rows; row++) found[row] += this.bytes[start + row] * 2 ** shift;
      else for (let row = 0; row < rows; row++) found[row] += (this.bytes[start + row] << shift) >>> 0;
    }
    this.at += width * rows;
    if (differences) {
      const mask = width === 4 ? 0xffffffff : 2 ** (8 * width) - 1;
      for (let row = 1; row < rows; row++) found[row] = (found[row] + found[row - 1]) & mask;
    }
    return found;
  }
}

// Rows of a table that are not here yet: their files have to be read before a picture can be drawn.
class Missing extends Error {
  constructor(blocks) {
    super("some rows are not loaded");
    this.blocks = blocks;
  }
}

// Rows in the order of their keys; the columns that are chosen above the page come first. A large table comes in blocks
// of rows, each in a file of its own, which is read when it is asked for; its columns have room for all of them.
class Table {
  constructor(release, about, columns) {
    Object.assign(this, about);
    this.release = release;
    this.keys = [...release.partition, ...about.columns];
    this.spans = new Map();
    this.index();
    let start = 0;
    this.blocks = about.blocks.map((block) => {
      const made = { ...block, table: this, start, loaded: false };
      start += block.rows;
      return made;
    });
    if (about.spans) this.readSpans(about.spans, columns);
    for (const block of this.blocks) if (block.file === null) this.fill(block, columns);
  }

  // Room for all rows, made when the first of them come.
  get room() {
    const wide = this.blocks.some((block) => block.widths.slice(this.keys.length).some((width) => width > 4));
    const room = () => (wide || this.from < 0 ? new Float64Array(this.rows) : new Uint32Array(this.rows));
    const codes = Object.fromEntries(this.keys.map((key) => [key, new Uint32Array(this.rows)]));
    const limits = this.estimate ? { lows: room(), highs: room(), weights: room() } : {};
    return this.keepRoom({ codes, counts: room(), ...limits });
  }
  keepRoom(value) {
    Object.defineProperty(this, "room", { value });
    return value;
  }
  get codes() {
    return this.room.codes;
  }
  get counts() {
    return this.room.counts;
  }

  // The rows of a block, from its columns.
  fill(block, columns) {
    const { counts, lows, highs, weights } = this.room,
      numbers = [counts, lows, highs, weights].filter(Boolean);
    this.keys.forEach((key, i) =>
      this.codes[key].set(columns.next(block.rows, block.widths[i], true), block.start),
    );
    numbers.forEach((array, i) =>
      array.set(columns.next(block.rows, block.widths[this.keys.length + i], false), block.start),
    );
    if (this.from < 0) for (let row = block.start; row < block.start + block.rows; row++) this.counts[row] += this.from;
    block.loaded = true;
    if (block.file === null) this.findSpans(block);
  }

  get complete() {
    return this.blocks.every((block) => block.loaded);
  }

  // Where each part of the data is, as the page says it of a table in several files.
  readSpans(about, columns) {
    const { partition } = this.release,
      codes = partition.map((_, i) => columns.next(about.rows, about.widths[i], true));
    const [rows, mosts, sums] = [0, 1, 2].map((i) =>
      columns.next(about.rows, about.widths[partition.length + i], false),
    );
    let start = 0,
      at = 0;
    for (let i = 0; i < about.rows; i++) {
      const own = codes.map((code) => code[i]);
      while (start >= this.blocks[at].start + this.blocks[at].rows) at++;
      this.spans.set(own.join(), {
        codes: own,
        start,
        end: start + rows[i],
        block: this.blocks[at],
        most: mosts[i],
        sum: sums[i],
      });
      start += rows[i];
    }
  }

  // The same, found in the rows.
  findSpans(block) {
    const columns = this.release.partition.map((key) => this.codes[key]),
      last = block.start + block.rows,
      begins = new Uint8Array(this.rows);
    begins[block.start] = 1;
    for (const column of columns)
      for (let row = block.start + 1; row < last; row++) if (column[row] !== column[row - 1]) begins[row] = 1;
    let span = null;
    for (let row = block.start; row < last; row++) {
      if (begins[row]) {
        const codes = columns.map((column) => column[row]);
        span = { codes, start: row, end: row, block, most: 2, sum: 0 };
        this.spans.set(codes.join(), span);
      }
      span.end = row + 1;
      if (this.counts[row] > span.most) span.most = this.counts[row];
      span.sum += this.counts[row];
    }
  }

  index() {
    this.axes = this.columns.length > 2 ? chosenAxes(this) : this.columns;
    this.chosen = this.keys.filter((key) => !this.axes.includes(key));
    this.extras = this.chosen.filter((key) => !this.release.partition.includes(key));
    this.cache = new Map();
    this.scales = new Map();
    this.clocks = ["-1", ...this.times];
  }

  kind(column) {
    return this.release.kinds[column];
  }
  labels(column) {
    return this.kind(column) === "time" ? this.clocks : this.release.labels[this.lists[column]];
  }
  // The code of a place in this table; null where its areas are others.
  placeCode(label) {
    const column = this.columns.find((each) => this.kind(each) === "location");
    return label === null || !column ? null : (this.release.codesOf(this.lists[column]).get(label) ?? null);
  }
  has(kind) {
    return this.axes.some((axis) => this.kind(axis) === kind);
  }
  axis(kind) {
    return this.axes.find((axis) => this.kind(axis) === kind);
  }

  // The variance of the noise of a row.
  noiseOf() {
    return this.variance;
  }

  // A cell with what it stands for. Estimates that are not listed are 0, with no interval; else it is not published.
  spot(row) {
    if (row < 0) return this.estimate ? { count: 0, low: null, high: null, weight: null } : NOT_PUBLISHED;
    const count = this.counts[row];
    const { lows, highs, weights } = this.room;
    if (lows) return { count, low: lows[row], high: highs[row], weight: weights[row] };
    if (this.estimate) return { count, low: null, high: null, weight: null };
    return { count, low: Math.max(this.least, count - this.half), high: Math.max(0, count + this.half), weight: null };
  }

  // The same cells by fewer columns, where all of them are published, so that their sums are whole.
  sum(columns) {
    return new Sums(this, columns);
  }

  // The span of a part that is of one day; undefined where nothing is published of it.
  spanOf(part) {
    return this.spans.get(this.release.partition.map((column) => part[column] ?? -1).join());
  }

  // Row numbers of a part: of the values chosen for all columns that are no axis. {mode: 2, date: 0} → rows.
  rowsOf(part) {
    const span = this.spanOf(part);
    if (!span) return EMPTY;
    if (!span.block.loaded) throw new Missing([span.block]);
    if (!this.extras.length) return span;
    if (!span.lists) {
      const lists = (span.lists = new Map()),
        columns = this.extras.map((column) => this.codes[column]);
      for (let row = span.start; row < span.end; row++) {
        const key = columns.map((column) => column[row]).join();
        if (!lists.has(key)) lists.set(key, []);
        lists.get(key).push(row);
      }
    }
    return { list: span.lists.get(this.extras.map((column) => part[column] ?? -1).join()) ?? [] };
  }

  // Every part that has rows, by its codes.
  get everyPart() {
    return [...this.spans.values()].flatMap((span) => {
      const part = Object.fromEntries(this.release.partition.map((column, i) => [column, span.codes[i]]));
      if (!this.extras.length) return [part];
      this.rowsOf({ ...part, ...Object.fromEntries(this.extras.map((column) => [column, -1])) });
      return [...span.lists.keys()].map((key) => {
        const codes = key.split(",");
        return { ...part, ...Object.fromEntries(this.extras.map((column, i) => [column, +codes[i]])) };
      });
    });
  }

  // The row of a cell on one day, by halving: rows are ordered by their keys. -1 where it is not listed.
  find(part, wanted) {
    const span = this.spanOf(part);
    if (!span) return -1;
    if (!span.block.loaded) throw new Missing([span.block]);
    const columns = this.columns.map((column) => [this.codes[column], wanted[column] ?? part[column]]);
    let [low, high] = [span.start, span.end];
    while (low < high) {
      const middle = (low + high) >> 1;
      let order = 0;
      for (const [codes, code] of columns) if ((order = codes[middle] - code)) break;
      if (order === 0) return middle;
      if (order < 0) low = middle + 1;
      else high = middle;
    }
    return -1;
  }

  // The largest count whatever the day: so that days share a scale.
  most(part, free) {
    const { partition } = this.release,
      fixed = this.chosen.filter((column) => column !== free),
      key = fixed.map((column) => part[column] ?? -1).join();
    if (!this.scales.has(key)) {
      const spans = [...this.spans.values()].filter((span) =>
        span.codes.every((code, i) => partition[i] === free || code === part[partition[i]]),
      );
      let most = largest(spans, (span) => span.most, 2);
      if (this.extras.length && this.complete) {
        most = 2;
        for (const span of spans)
          for (let row = span.start; row < span.end; row++)
            if (this.counts[row] > most && this.extras.every((column) => this.codes[column][row] === part[column]))
              most = this.counts[row];
      }
      this.scales.set(key, most);
    }
    return this.scales.get(key);
  }

  // The value of a column with most trips.
  busiest(column) {
    const at = this.release.partition.indexOf(column);
    if (at < 0 && !this.complete) return this.busy?.[column] ?? 0;
    const sums = new Map(),
      add = (code, count) => sums.set(code, (sums.get(code) ?? 0) + count);
    if (at >= 0) for (const span of this.spans.values()) add(span.codes[at], span.sum);
    else for (let row = 0; row < this.rows; row++) add(this.codes[column][row], this.counts[row]);
    return [...sums.entries()].sort((a, b) => b[1] - a[1] || a[0] - b[0])[0]?.[0] ?? 0;
  }

  // The cells of a part by their keys, of a day or as means of several: code → count, or code → counts along an axis.
  cells(part) {
    const key = this.chosen.map((column) => part[column] ?? -1).join();
    if (!this.cache.has(key)) {
      const days = this.release.periods.several(part);
      const made = days ? new Means(this, part, days) : new Cells(this, this.rowsOf(part));
      if (this.cache.size > 12) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(key, made);
    }
    return this.cache.get(key);
  }

  // Of every day of some: all rows have to be here.
  partsOf(part, days) {
    const { day } = this.release,
      parts = days.map((code) => ({ ...part, [day]: code })),
      spans = parts.map((each) => this.spanOf(each)),
      missing = [...new Set(spans.filter((span) => span && !span.block.loaded).map((span) => span.block))];
    if (missing.length) throw new Missing(missing);
    return parts;
  }
}

// Sums over some columns of a table of which every cell is published: made for each part when it is asked for, in the
// place that the rows they are sums of have in their table. The noise of a sum of n cells is √n times that of one; for
// sums of estimates there is no interval.
class Sums extends Table {
  constructor(table, columns) {
    const timed = columns.some((column) => table.kind(column) === "time");
    super(table.release, {
      ...Object.fromEntries(Object.entries(table).filter(([name]) => ABOUT.includes(name))),
      columns,
      times: timed ? table.times : [],
      until: timed ? table.until : [],
      blocks: [],
    });
    this.of = table;
    const codes = Object.fromEntries(this.keys.map((key) => [key, new Uint32Array(table.rows)]));
    this.keepRoom({ codes, counts: new Float64Array(table.rows) });
    this.merged = new Uint32Array(table.rows);
  }

  get complete() {
    return this.of ? this.of.complete : true;
  }

  spanOf(part) {
    const span = this.of.spanOf(part);
    if (!span) return undefined;
    if (!this.spans.has(span.codes.join())) {
      if (!span.block.loaded) return span; // whoever asks for its rows is told that they are missing
      this.spans.set(span.codes.join(), this.addUp(span));
    }
    return this.spans.get(span.codes.join());
  }

  addUp(span) {
    const codes = this.columns.map((column) => this.of.codes[column]),
      sizes = this.columns.map((column) => this.labels(column).length),
      sums = new Map();
    for (let row = span.start; row < span.end; row++) {
      let key = 0;
      for (let k = 0; k < codes.length; k++) key = key * sizes[k] + codes[k][row];
      const sum = sums.get(key);
      if (sum) {
        sum.count += this.of.counts[row];
        sum.cells++;
      } else sums.set(key, { row, count: this.of.counts[row], cells: 1 });
    }
    const made = { ...span, end: span.start + sums.size, most: 2, sum: 0, lists: undefined };
    let at = span.start;
    for (const [, sum] of [...sums].sort(([a], [b]) => a - b)) {
      this.release.partition.forEach((column, i) => (this.codes[column][at] = span.codes[i]));
      this.columns.forEach((column, k) => (this.codes[column][at] = codes[k][sum.row]));
      this.counts[at] = sum.count;
      this.merged[at] = sum.cells;
      made.most = Math.max(made.most, sum.count);
      made.sum += sum.count;
      at++;
    }
    return made;
  }

  // Days share a scale: that of all days where their rows are here, else of those that are.
  most(part, free) {
    for (const span of this.of.spans.values())
      if (span.block.loaded && !this.spans.has(span.codes.join()))
        this.spans.set(span.codes.join(), this.addUp(span));
    this.scales.clear();
    return super.most(part, free);
  }

  // One number stands for several cells.
  noiseOf(row) {
    return this.variance * this.merged[row];
  }

  spot(row) {
    if (row < 0 || this.estimate) return super.spot(row);
    const count = this.counts[row],
      half = Math.ceil(this.half * Math.sqrt(this.merged[row]));
    return { count, low: Math.max(0, count - half), high: Math.max(0, count + half), weight: null };
  }
}

const ABOUT = [
  ...["name", "path", "lists", "wider", "rows", "from", "estimate", "half", "change", "least", "absent", "smallest"],
  ...["mean_error", "noise", "variance", "gaussian"],
];

const NOT_PUBLISHED = { count: SUPPRESSED, low: null, high: null, weight: null };
const EMPTY = { start: 0, end: 0, list: null };

function eachRow(rows, visit) {
  if (rows.list) for (const row of rows.list) visit(row);
  else for (let row = rows.start; row < rows.end; row++) visit(row);
}

// Of more than two columns two are drawn, the others are chosen: place and time first, then places, then the others.
function chosenAxes(table) {
  const by = (kind) => table.columns.filter((column) => table.kind(column) === kind);
  const [places, times] = [by("location"), by("time")];
  if (places.length >= 2) return places.slice(0, 2);
  if (places.length && times.length) return [places[0], times[0]];
  return table.columns.slice(0, 2);
}

class Cells {
  constructor(table, rows) {
    this.table = table;
    this.size = rows.list ? rows.list.length : rows.end - rows.start;
    [this.down, this.across] = orderedAxes(table);
    const down = table.codes[this.down],
      across = this.across && table.codes[this.across];
    this.lines = new Map();
    this.sums = new Map();
    this.columns = new Map();
    const dense = !across || table.kind(this.across) === "time";
    const width = across ? table.labels(this.across).length : 1;
    eachRow(rows, (row) => {
      let line = this.lines.get(down[row]);
      if (!line) this.lines.set(down[row], (line = dense ? new Int32Array(width).fill(-1) : new Map()));
      const at = across ? across[row] : 0,
        count = table.counts[row];
      if (line instanceof Map) line.set(at, row);
      else line[at] = row;
      this.sums.set(down[row], (this.sums.get(down[row]) ?? 0) + count);
      if (across) this.columns.set(at, (this.columns.get(at) ?? 0) + count);
    });
  }

  // Whether a cell is listed.
  has(down, across = 0) {
    return this.row(down, across) >= 0;
  }

  // The row of the table that a cell is in; -1 where there is none.
  row(down, across = 0) {
    const line = this.lines.get(down);
    return (line instanceof Map ? line.get(across) : line?.[across]) ?? -1;
  }

  at(down, across = 0) {
    const row = this.row(down, across);
    return row >= 0 ? this.table.counts[row] : this.table.estimate ? 0 : SUPPRESSED;
  }

  spot(down, across = 0) {
    return this.table.spot(this.row(down, across));
  }
}

// Means of several days of a part. A cell that is not listed on some of them has the sum of the others, as a share of all
// days, and says so: its interval has room for what is not listed.
class Means {
  constructor(table, part, days) {
    this.table = table;
    this.days = days;
    [this.down, this.across] = orderedAxes(table);
    const down = table.codes[this.down],
      across = this.across && table.codes[this.across],
      dense = !across || table.kind(this.across) === "time",
      width = across ? table.labels(this.across).length : 1;
    this.lines = new Map();
    this.sums = new Map();
    this.columns = new Map();
    this.size = 0;
    const line = () =>
      dense
        ? { sums: new Float64Array(width), seen: new Uint16Array(width), noise: new Float64Array(width) }
        : { sums: [], seen: [], noise: [] };
    for (const each of table.partsOf(part, days))
      eachRow(table.rowsOf(each), (row) => {
        let own = this.lines.get(down[row]);
        if (!own) this.lines.set(down[row], (own = line()));
        const at = across ? across[row] : 0,
          count = table.counts[row];
        if (!own.seen[at]) this.size++;
        own.sums[at] = (own.sums[at] ?? 0) + count;
        own.seen[at] = (own.seen[at] ?? 0) + 1;
        own.noise[at] = (own.noise[at] ?? 0) + table.noiseOf(row);
        this.sums.set(down[row], (this.sums.get(down[row]) ?? 0) + count / days.length);
        if (across) this.columns.set(at, (this.columns.get(at) ?? 0) + count / days.length);
      });
  }

  has(down, across = 0) {
    return Boolean(this.lines.get(down)?.seen[across]);
  }

  // Whether some of the days do not list it.
  partial(down, across = 0) {
    return !this.table.estimate && this.lines.get(down)?.seen[across] < this.days.length;
  }

  at(down, across = 0) {
    if (!this.has(down, across)) return this.table.estimate ? 0 : SUPPRESSED;
    return this.lines.get(down).sums[across] / this.days.length;
  }

  spot(down, across = 0) {
    const line = this.lines.get(down);
    return meanSpot(this.table, this.days.length, line?.sums[across], line?.seen[across], line?.noise[across]);
  }
}

// The mean of a cell over some days, with what the noise leaves open and what days hold that do not list it.
function meanSpot(table, days, sum, seen, noise) {
  const count = (sum ?? 0) / days,
    missing = table.estimate ? 0 : days - (seen ?? 0);
  if (table.estimate) return { count, low: null, high: null, weight: null, days, missing };
  const half = Math.ceil(Math.sqrt(noise ?? 0) * noiseQuantile(table.gaussian) - 1e-9) / days;
  const low = Math.max(0, count - half),
    high = Math.max(0, count + half + (missing * table.absent) / days);
  return { count: seen ? count : SUPPRESSED, low, high, weight: null, days, missing };
}

// Places (or whatever else) go down, times go across.
function orderedAxes(table) {
  const [one, two] = table.axes;
  if (!two) return [one, undefined];
  return table.kind(one) === "time" && table.kind(two) !== "time" ? [two, one] : [one, two];
}

const fileOf = (block) => `explorer/part-${String(block.file).padStart(4, "0")}.js`;
const handed = new Map();
window.tapveilPart = (file, text) => handed.get(file)?.(text);

class Release {
  constructor(bytes) {
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const about = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
    Object.assign(this, about);
    const columns = new Columns(bytes, 4 + size);
    this.day = about.partition.find((column) => column === "date" || about.kinds[column] === "date");
    this.periods = new Periods(this);
    this.every = about.tables.map((table) => new Table(this, table, columns));
    const [measured, estimated] = [about.total, about.estimated_total].map(
      (total, i) => total && new Totals(this, total, columns, i === 1),
    );
    this.typical = about.typical && new Typical(this, about.typical, columns);
    this.codes = new Map();
    this.sums = new Map();
    this.totals = { estimates: estimated, measurements: measured };
    this.sets = {
      estimates: this.every.filter((table) => table.estimate),
      measurements: this.every.filter((table) => !table.estimate),
    };
    this.sources = Object.keys(this.sets).filter((source) => this.sets[source].length);
    this.use(this.sources[0] ?? "measurements");
    this.shapeOf = new Map(this.shapes.map((shape) => [shape.properties.mode + "\n" + shape.properties.name, shape]));
  }

  // Whether there is a count to draw: totals are shown with others, and not by themselves.
  get isDrawn() {
    return this.every.some((table) => table.rows);
  }

  // The rows of a file next to this page: a script that hands over its data, since a page on a disk may read no other.
  async read(block) {
    if (block.loaded) return;
    const text = await new Promise((found, failed) => {
      const script = document.createElement("script");
      handed.set(block.file, found);
      script.onerror = failed;
      script.onload = () => (script.remove(), failed());
      script.src = fileOf(block);
      document.head.append(script);
    });
    if (!block.loaded) block.table.fill(block, new Columns(await unpacked(text), 0));
  }

  // Which numbers are shown: estimates where there are some, or the measurements that they were made from.
  use(source) {
    this.source = source;
    this.tables = this.sets[source];
    this.total = this.totals[source];
  }

  // The places of the finest tables; of wider areas alone where there are no others.
  get places() {
    return this.labels["*place"] ?? Object.entries(this.labels).find(([name]) => name.startsWith("*place"))?.[1] ?? [];
  }

  codesOf(list) {
    if (!this.codes.has(list)) this.codes.set(list, new Map(this.labels[list].map((label, code) => [label, code])));
    return this.codes.get(list);
  }

  // Where a place lies: by its mode, or for every mode that has no places of its own.
  shape(mode, name) {
    return this.shapeOf.get(mode + "\n" + name) ?? this.shapeOf.get("*\n" + name);
  }

  // The table of these kinds of columns that goes with another: same end of the trip, same areas; same bins if it can be.
  like(table, kinds, side) {
    const fits = this.tables.filter(
      (each) =>
        each.columns.length === kinds.length &&
        kinds.every((kind) => each.has(kind)) &&
        sideOf(each) === side &&
        (each.wider === table.wider || !kinds.includes("location")),
    );
    const bins = (each) => each.times.join() === table.times.join();
    return fits.find(bins) ?? fits[0] ?? this.sumLike(table, kinds, side);
  }

  // Sums of a table that has more columns, where every cell is known; the smallest such table.
  sumLike(table, kinds, side) {
    const key = [this.source, side, table.wider, ...kinds].join();
    if (!this.sums.has(key)) {
      const of = (each) =>
        kinds.map((kind) => each.columns.find((column) => each.kind(column) === kind && endOf(column) === side));
      const from = this.every_cell
        ? this.tables
            .filter((each) => each.wider === table.wider && of(each).every(Boolean))
            .sort((a, b) => a.rows - b.rows)[0]
        : undefined;
      this.sums.set(key, from?.sum(of(from)));
    }
    return this.sums.get(key);
  }
}

// Whole trips by time and kind of day, where those of every day are too many for a page: sums over the days of a kind.
class Typical {
  constructor(release, about, columns) {
    Object.assign(this, about);
    const keys = about.columns.map((_, i) => columns.next(about.rows, about.widths[i], true));
    this.counts = columns.next(about.rows, about.widths[keys.length], false);
    [this.from, this.to] = keys.slice(-2);
    const parts = keys.slice(0, -2);
    this.ranges = new Map();
    for (let row = 0, start = 0; row <= about.rows; row++) {
      if (row && (row === about.rows || parts.some((part) => part[row] !== part[row - 1]))) {
        this.ranges.set(parts.map((part) => part[start]).join(), [start, row]);
        start = row;
      }
    }
  }

  // From where to where, of a mode if there are some, of a kind of day, at a time.
  each(mode, kind, time, visit) {
    const [start, end] = this.ranges.get([...(this.columns.length > 4 ? [mode] : []), kind, time].join()) ?? [0, 0];
    for (let row = start; row < end; row++) visit(this.from[row], this.to[row], this.counts[row]);
  }
}

class Totals {
  constructor(release, about, columns, estimated) {
    Object.assign(this, { release, estimated });
    const keys = release.partition.map((_, i) => columns.next(about.rows, about.widths[i], true));
    const [count, low, high] = [0, 1, 2].map((i) => columns.next(about.rows, about.widths[keys.length + i], false));
    this.found = new Map();
    for (let row = 0; row < about.rows; row++) {
      this.found.set(keys.map((key) => key[row]).join(), { count: count[row], low: low[row], high: high[row] });
    }
    this.partition = release.partition;
  }

  // Of several days: their mean. Noise of days is independent: half-widths add up like the sides of right angles.
  of(part) {
    const of = (each) => this.found.get(this.partition.map((column) => each[column] ?? -1).join()),
      days = this.release.periods.several(part);
    if (!days) return of(part);
    const found = days.map((code) => of({ ...part, [this.release.day]: code }));
    if (!found.every(Boolean)) return undefined;
    const mean = (value) => found.reduce((sum, each) => sum + value(each), 0) / days.length,
      count = mean((each) => each.count);
    if (this.estimated) return { count, low: null, high: null };
    const half = (value) => Math.sqrt(mean((each) => value(each) ** 2) / days.length);
    const [below, above] = [half((each) => each.count - each.low), half((each) => each.high - each.count)];
    return { count, low: count - below, high: count + above };
  }
}

// Which end of a trip a column is about.
const endOf = (column) => (/(^|_)on(_|$)/.test(column) ? "on" : /(^|_)off(_|$)/.test(column) ? "off" : "");

// Which end of a trip a table is about.
function sideOf(table) {
  const ends = new Set(table.columns.map(endOf));
  return ends.size === 1 ? [...ends][0] : "both";
}
