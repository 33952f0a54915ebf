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

// Rows in the order of their keys; the columns that are chosen above the page come first.
class Table {
  constructor(release, about, columns) {
    Object.assign(this, about);
    this.release = release;
    const keys = [...release.partition, ...about.columns];
    const read = keys.map((_, i) => columns.next(about.rows, about.widths[i], true));
    const [counts, lows, highs, weights] = about.widths
      .slice(keys.length)
      .map((width) => columns.next(about.rows, width, false));
    this.counts = about.from < 0 ? Float64Array.from(counts, (count) => count + about.from) : counts;
    Object.assign(this, { lows, highs, weights });
    this.codes = Object.fromEntries(keys.map((key, i) => [key, read[i]]));
    this.index();
  }

  index() {
    const keys = Object.keys(this.codes);
    this.axes = this.columns.length > 2 ? chosenAxes(this) : this.columns;
    this.chosen = keys.filter((key) => !this.axes.includes(key));
    this.cache = new Map();
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

  // A cell with what it stands for. Estimates that are not listed are 0, with no interval; else it is not published.
  spot(row) {
    if (row < 0) return this.estimate ? { count: 0, low: null, high: null, weight: null } : NOT_PUBLISHED;
    const count = this.counts[row];
    if (this.lows) return { count, low: this.lows[row], high: this.highs[row], weight: this.weights?.[row] ?? null };
    if (this.summed && this.estimate) return { count, low: null, high: null, weight: null };
    return { count, low: Math.max(this.least, count - this.half), high: Math.max(0, count + this.half), weight: null };
  }

  // The same cells by fewer columns, where all of them are published, so that their sums are whole. The noise of a sum
  // of n cells is √n times that of one; for sums of estimates there is no interval.
  sum(columns) {
    const keys = [...this.release.partition, ...columns],
      codes = keys.map((key) => this.codes[key]),
      sizes = keys.map((key) => this.labels(key).length),
      places = new Map(),
      found = [];
    for (let row = 0, last = -1, sum = null; row < this.rows; row++) {
      let key = 0;
      for (let k = 0; k < codes.length; k++) key = key * sizes[k] + codes[k][row];
      if (key !== last) {
        sum = places.get(key);
        if (!sum) {
          places.set(key, (sum = { row, count: 0, cells: 0 }));
          found.push(sum);
        }
        last = key;
      }
      sum.count += this.counts[row];
      sum.cells++;
    }
    const made = Object.create(Table.prototype);
    const half = found.map((sum) => Math.ceil(this.half * Math.sqrt(sum.cells)));
    Object.assign(made, {
      ...this,
      columns,
      summed: true,
      rows: found.length,
      counts: Float64Array.from(found, (sum) => sum.count),
      lows: this.estimate ? undefined : Float64Array.from(found, (sum, i) => Math.max(0, sum.count - half[i])),
      highs: this.estimate ? undefined : Float64Array.from(found, (sum, i) => Math.max(0, sum.count + half[i])),
      weights: undefined,
      parts: undefined,
      scales: undefined,
      times: columns.some((column) => this.kind(column) === "time") ? this.times : [],
      codes: Object.fromEntries(keys.map((key, k) => [key, Uint32Array.from(found, (sum) => codes[k][sum.row])])),
    });
    made.index();
    return made;
  }

  // Row numbers of a part: of the values chosen for all columns that are no axis. {mode: 2, date: 0} → rows.
  rowsOf(part) {
    const wanted = this.chosen.map((column) => part[column] ?? -1);
    const key = wanted.join();
    if (!this.parts) this.indexParts();
    return this.parts.get(key) ?? EMPTY;
  }

  indexParts() {
    this.parts = new Map();
    const columns = this.chosen.map((column) => this.codes[column]);
    const contiguous = this.axes.length === this.columns.length;
    const lists = new Map();
    let last = null,
      key = "";
    for (let row = 0; row < this.rows; row++) {
      if (last === null || columns.some((column) => column[row] !== column[last])) {
        key = columns.map((column) => column[row]).join();
        if (!lists.has(key)) lists.set(key, []);
        lists.get(key).push([row, row]);
      }
      const ranges = lists.get(key);
      ranges[ranges.length - 1][1] = row + 1;
      last = row;
    }
    for (const [name, ranges] of lists) {
      if (contiguous && ranges.length === 1)
        this.parts.set(name, { start: ranges[0][0], end: ranges[0][1], list: null });
      else
        this.parts.set(name, {
          start: 0,
          end: 0,
          list: Uint32Array.from(ranges.flatMap(([a, b]) => Array.from({ length: b - a }, (_, i) => a + i))),
        });
    }
  }

  // The largest count whatever the day: so that days share a scale.
  most(part, free) {
    const fixed = this.chosen.filter((column) => column !== free),
      key = `most ${fixed.map((column) => part[column] ?? -1).join()}`;
    if (!this.scales) this.scales = new Map();
    if (!this.scales.has(key)) {
      const columns = fixed.map((column) => this.codes[column]),
        wanted = fixed.map((column) => part[column]);
      let most = 2;
      for (let row = 0; row < this.rows; row++) {
        if (this.counts[row] > most && columns.every((column, i) => column[row] === wanted[i])) most = this.counts[row];
      }
      this.scales.set(key, most);
    }
    return this.scales.get(key);
  }

  // The cells of a part by their keys: one axis → Map code → count; two → Map code → counts along the second axis.
  cells(part) {
    const key = this.chosen.map((column) => part[column] ?? -1).join();
    if (!this.cache.has(key)) {
      if (this.cache.size > 12) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(key, new Cells(this, this.rowsOf(part)));
    }
    return this.cache.get(key);
  }
}

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

// Places (or whatever else) go down, times go across.
function orderedAxes(table) {
  const [one, two] = table.axes;
  if (!two) return [one, undefined];
  return table.kind(one) === "time" && table.kind(two) !== "time" ? [two, one] : [one, two];
}

class Release {
  constructor(bytes) {
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const about = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
    Object.assign(this, about);
    const columns = new Columns(bytes, 4 + size);
    this.every = about.tables.map((table) => new Table(this, table, columns));
    const [measured, estimated] = [about.total, about.estimated_total].map(
      (total) => total && new Totals(this, total, columns),
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
  constructor(release, about, columns) {
    const keys = release.partition.map((_, i) => columns.next(about.rows, about.widths[i], true));
    const [count, low, high] = [0, 1, 2].map((i) => columns.next(about.rows, about.widths[keys.length + i], false));
    this.found = new Map();
    for (let row = 0; row < about.rows; row++) {
      this.found.set(keys.map((key) => key[row]).join(), { count: count[row], low: low[row], high: high[row] });
    }
    this.partition = release.partition;
  }

  of(part) {
    return this.found.get(this.partition.map((column) => part[column] ?? -1).join());
  }
}

// Which end of a trip a column is about.
const endOf = (column) => (/(^|_)on(_|$)/.test(column) ? "on" : /(^|_)off(_|$)/.test(column) ? "off" : "");

// Which end of a trip a table is about.
function sideOf(table) {
  const ends = new Set(table.columns.map(endOf));
  return ends.size === 1 ? [...ends][0] : "both";
}
