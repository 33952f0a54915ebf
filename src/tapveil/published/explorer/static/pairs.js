// From where to where: the pairs of places of what is chosen, with their numbers.

const KINDS_OF_DAY = ["weekday", "saturday", "sunday"];
const DAY_TITLES = {
  weekday: "Mean weekday",
  saturday: "Mean Saturday",
  sunday: "Mean Sunday or holiday",
  all: "Mean of all days",
};
const MOST_DENSE = 1500;

class Pairs {
  constructor(app) {
    this.app = app;
    this.cache = new Map();
  }

  // The table of pairs: as many times in it as asked for; the one that is looked at before others.
  table(times) {
    const { release, view } = this.app,
      count = (table, kind) => table.columns.filter((column) => table.kind(column) === kind).length;
    const fit = release.tables.filter(
      (table) => count(table, "location") === 2 && count(table, "time") === times && table.columns.length === 2 + times,
    );
    return fit.find((table) => table === view.table) ?? fit.find((table) => !table.wider) ?? fit[0];
  }

  kindOf(label) {
    const day = dayOf(label)?.getUTCDay();
    return this.app.release.holidays.includes(label) || day === 0 ? "sunday" : day === 6 ? "saturday" : "weekday";
  }

  // The days of a kind by their codes.
  daysOf(kind) {
    const { release, view } = this.app,
      labels = (view.day && release.labels[view.day]) || [];
    if (!view.day || kind === "day") return [view.part[view.day]];
    return labels.map((_, code) => code).filter((code) => kind === "all" || this.kindOf(labels[code]) === kind);
  }

  // What can be chosen: the day above, or kinds of day if there are several days.
  get kinds() {
    const { release, view } = this.app,
      labels = (view.day && release.labels[view.day]) || [];
    if (labels.length < 2) return ["day"];
    const known = labels.every(dayOf) ? KINDS_OF_DAY.filter((kind) => this.daysOf(kind).length) : [];
    return ["day", ...(known.length > 1 ? known : []), "all"];
  }

  // Where the numbers are from: {table, typical, time}. Times by pair may be known for kinds of day alone.
  source() {
    const { release, view } = this.app,
      whole = this.table(0),
      timed = this.table(1);
    if (view.time !== null && timed && view.timeIn(timed)) return { table: timed, time: view.timeIn(timed) };
    const typical = release.source === "estimates" && whole && !whole.wider ? release.typical : null;
    if (view.time !== null && typical && view.timeIn(typical))
      return { table: whole, typical, time: view.timeIn(typical) };
    return whole || timed ? { table: whole ?? timed, time: null } : null;
  }

  // All pairs, the largest first.
  chosen() {
    const { release, view } = this.app,
      source = this.source();
    if (!source) return null;
    const days = this.kinds.includes(view.days) ? view.days : "day";
    const key = JSON.stringify([
      release.source,
      source.table.name,
      Boolean(source.typical),
      source.time,
      days,
      view.part,
    ]);
    if (!this.cache.has(key)) {
      if (this.cache.size > 8) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(key, this.found(source, days));
    }
    return this.cache.get(key);
  }

  found({ table, typical, time }, days) {
    const { view, release } = this.app,
      places = table.columns.filter((column) => table.kind(column) === "location"),
      [from, to] = endOf(places[0]) === "off" ? [...places].reverse() : places,
      labels = table.labels(from);
    const sums = labels.length <= MOST_DENSE ? new Dense(labels.length) : new Sparse(labels.length);
    let codes = this.daysOf(days),
      number = codes.length,
      kinds = null,
      rows = null;
    if (typical) {
      const ofDay = (code) => this.kindOf(release.labels[view.day][code]);
      kinds = days === "day" ? [ofDay(codes[0])] : [...new Set(codes.map(ofDay))];
      number = kinds.reduce((sum, kind) => sum + typical.days[KINDS_OF_DAY.indexOf(kind)], 0);
      for (const kind of kinds)
        typical.each(view.part.mode, KINDS_OF_DAY.indexOf(kind), time, (a, b, count) => sums.add(a, b, count));
    } else {
      const clock = table.columns.find((column) => table.kind(column) === "time"),
        times = clock ? (time === null ? table.clocks.map((_, code) => code) : [time]) : [null];
      if (codes.length === 1 && times.length === 1) rows = sums.rows();
      for (const day of codes)
        for (const when of times) {
          const part = { ...view.part, ...(view.day ? { [view.day]: day } : {}), ...(clock ? { [clock]: when } : {}) };
          eachRow(table.rowsOf(part), (row) => {
            const [a, b] = [table.codes[from][row], table.codes[to][row]];
            sums.add(a, b, table.counts[row]);
            if (rows) rows[a * labels.length + b] = row;
          });
        }
    }
    const unknown = labels.indexOf("UNKNOWN");
    const all = sums.pairs(number);
    const volume = new Map(),
      grow = (code, by) => volume.set(code, (volume.get(code) ?? 0) + by);
    let total = 0,
      without = 0;
    for (const pair of all) {
      const count = Math.max(0, pair.count);
      total += count;
      if (pair.from === unknown || pair.to === unknown) without += count;
      grow(pair.from, count);
      if (pair.to !== pair.from) grow(pair.to, count);
    }
    return {
      table,
      typical,
      time,
      days,
      kinds,
      number,
      labels,
      list: table.lists[from],
      all,
      total,
      without,
      unknown,
      volume,
      count: (a, b) => sums.of(a, b) / number || (table.estimate || release.every_cell ? 0 : SUPPRESSED),
      spot: (pair) => (rows ? table.spot(rows[pair.from * labels.length + pair.to] ?? -1) : null),
    };
  }
}

// Sums by pair: in a square where it is small enough, else of what there is.
class Dense {
  constructor(size) {
    this.size = size;
    this.sums = new Float64Array(size * size);
  }
  add(from, to, count) {
    this.sums[from * this.size + to] += count;
  }
  of(from, to) {
    return this.sums[from * this.size + to];
  }
  // Where the row of each pair is kept.
  rows() {
    return new Int32Array(this.size * this.size).fill(-1);
  }
  filled() {
    const found = [];
    for (let i = 0; i < this.sums.length; i++) if (this.sums[i]) found.push([i, this.sums[i]]);
    return found;
  }

  // The largest first, as means of a number of days. Numbers are ordered faster than things: so a number holds both,
  // the sum and, behind it, the pair, as long as it is exact.
  pairs(days) {
    const found = this.filled(),
      squared = this.size * this.size;
    const pair = (i, sum) => ({ from: Math.floor(i / this.size), to: i % this.size, count: sum / days });
    if (largest(found, ([, sum]) => Math.abs(sum), 1) * squared >= Number.MAX_SAFE_INTEGER)
      return found.sort((a, b) => b[1] - a[1] || a[0] - b[0]).map(([i, sum]) => pair(i, sum));
    const keys = Float64Array.from(found, ([i, sum]) => i - sum * squared).sort();
    return Array.from(keys, (key) => {
      const sum = -Math.floor(key / squared);
      return pair(key + sum * squared, sum);
    });
  }
}

class Sparse extends Dense {
  constructor(size) {
    super(0);
    this.size = size;
    this.sums = new Map();
  }
  add(from, to, count) {
    const key = from * this.size + to;
    this.sums.set(key, (this.sums.get(key) ?? 0) + count);
  }
  of(from, to) {
    return this.sums.get(from * this.size + to) ?? 0;
  }
  rows() {
    return {};
  }
  filled() {
    return [...this.sums].filter(([, sum]) => sum);
  }
}
