// From where to where: the pairs of places of what is chosen, with their numbers.

const MOST_DENSE = 1500;

class Pairs {
  constructor(app) {
    this.app = app;
    this.cache = new Map();
  }

  // The table of pairs: as many times in it as asked for; the one that is looked at before others.
  table(tables, times) {
    const { view } = this.app,
      count = (table, kind) => table.columns.filter((column) => table.kind(column) === kind).length;
    const fit = tables.filter(
      (table) => count(table, "location") === 2 && count(table, "time") === times && table.columns.length === 2 + times,
    );
    return fit.find((table) => table === view.table) ?? fit.find((table) => !table.wider) ?? fit[0];
  }

  // Where the numbers are from: {table, typical, time}. Times by pair may be known for kinds of day alone.
  source(numbers) {
    const { release, view } = this.app,
      tables = release.sets[numbers],
      whole = this.table(tables, 0),
      timed = this.table(tables, 1);
    if (view.time !== null && timed && view.timeIn(timed)) return { table: timed, time: view.timeIn(timed) };
    const typical = numbers === "estimates" && whole && !whole.wider ? release.typical : null;
    if (view.time !== null && typical && view.timeIn(typical))
      return { table: whole, typical, time: view.timeIn(typical) };
    return whole || timed ? { table: whole ?? timed, time: null } : null;
  }

  // All pairs of a part, the largest first; by the numbers that are shown, or by others.
  chosen(part, numbers = this.app.release.source) {
    const source = this.source(numbers);
    if (!source) return null;
    const key = JSON.stringify([numbers, source.table.name, Boolean(source.typical), source.time, part]);
    if (!this.cache.has(key)) {
      const found = this.found(source, part);
      if (this.cache.size > 8) this.cache.delete(this.cache.keys().next().value);
      this.cache.set(key, found);
    }
    return this.cache.get(key);
  }

  // The change of each pair from another part, the largest first; of pairs that are published on every day of both.
  // Only of measurements is it known what noise explains: so the changes are theirs, where there are some.
  changes(part, other) {
    const { sets, source } = this.app.release,
      [now, then] = [part, other].map((each) => this.chosen(each, "measurements") ?? this.chosen(each, source));
    return { ...this.difference(now, then), swapped: source === "estimates" && !now.table.estimate };
  }

  difference(now, then) {
    const size = now.labels.length,
      seen = new Set(),
      all = [],
      volume = new Map();
    for (const pair of [...now.all, ...then.all]) {
      const key = pair.from * size + pair.to;
      if (seen.has(key)) continue;
      seen.add(key);
      const [one, two] = [now, then].map((each) => each.whole(pair.from, pair.to));
      if (one === SUPPRESSED || two === SUPPRESSED) continue;
      all.push({ from: pair.from, to: pair.to, count: one - two, now: one, then: two });
      for (const code of new Set([pair.from, pair.to]))
        volume.set(code, (volume.get(code) ?? 0) + Math.abs(one - two));
    }
    all.sort((a, b) => Math.abs(b.count) - Math.abs(a.count) || a.from - b.from || a.to - b.to);
    const count = (a, b) => {
      const [one, two] = [now, then].map((each) => each.whole(a, b));
      return one === SUPPRESSED || two === SUPPRESSED ? SUPPRESSED : one - two;
    };
    const limit = this.limit(now, then, all.length);
    const unknownPairs = seen.size - all.length;
    return { ...now, then, all, volume, count, limit, without: 0, spot: () => null, unknownPairs };
  }

  // How large a change is at most by noise alone, in all of so many comparisons but for one case in twenty; of estimates
  // that is not known. Of Laplace noise the tail of one number, of Gaussian noise Chernoff's bound.
  limit(now, then, comparisons) {
    const { variance, gaussian, estimate, clocks } = now.table;
    if (estimate) return Infinity;
    const rare = Math.log(Math.max(1, comparisons) / MISSES),
      cells = now.each ? 1 : clocks.length, // a pair at all times is a sum
      spread = Math.sqrt((cells * variance) / now.number + (cells * variance) / then.number);
    return spread * (gaussian ? Math.sqrt(2 * rare) : Math.max(Math.sqrt(2 * rare), rare / Math.SQRT2));
  }

  found({ table, typical, time }, part) {
    const { view, release } = this.app,
      { periods } = release,
      places = table.columns.filter((column) => table.kind(column) === "location"),
      [from, to] = endOf(places[0]) === "off" ? [...places].reverse() : places,
      labels = table.labels(from);
    const sums = labels.length <= MOST_DENSE ? new Dense(labels.length) : new Sparse(labels.length);
    const codes = view.day ? periods.of(part[view.day]) : [undefined];
    const clock = table.columns.find((column) => table.kind(column) === "time");
    let number = codes.length,
      kinds = null,
      rows = null;
    if (typical) {
      kinds = [...new Set(codes.map((code) => periods.kindOf(code)))];
      number = kinds.reduce((sum, kind) => sum + typical.days[KINDS_OF_DAY.indexOf(kind)], 0);
      for (const kind of kinds)
        typical.each(part.mode, KINDS_OF_DAY.indexOf(kind), time, (a, b, count) => sums.add(a, b, count));
    } else {
      const times = clock ? (time === null ? table.clocks.map((_, code) => code) : [time]) : [null];
      if (codes.length === 1 && times.length === 1) rows = sums.rows();
      if (view.day) table.partsOf(part, codes); // all of them have to be here
      for (const day of codes)
        for (const when of times) {
          const own = { ...part, ...(view.day ? { [view.day]: day } : {}), ...(clock ? { [clock]: when } : {}) };
          eachRow(table.rowsOf(own), (row) => {
            const [a, b] = [table.codes[from][row], table.codes[to][row]];
            sums.add(a, b, table.counts[row]);
            if (rows) rows[a * labels.length + b] = row;
          });
        }
    }
    const each = !typical && (!clock || time !== null); // a pair is one cell of a day
    const complete = table.estimate || release.every_cell; // what is not listed is 0
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
      part,
      kinds,
      number,
      ends: { from, to, clock: each ? clock : null },
      each,
      labels,
      list: table.lists[from],
      all,
      total,
      without,
      unknown,
      volume,
      several: number > 1 || Boolean(typical),
      count: (a, b) => (sums.has(a, b) ? sums.of(a, b) / number : complete ? 0 : SUPPRESSED),
      // The same, if every day has it.
      whole: (a, b) =>
        complete ? sums.of(a, b) / number : each && sums.seen(a, b) === number ? sums.of(a, b) / number : SUPPRESSED,
      // On how many days it is listed.
      listed: (a, b) => (complete || !each ? number : sums.seen(a, b)),
      spot: (pair) => (rows ? table.spot(rows[pair.from * labels.length + pair.to] ?? -1) : null),
    };
  }
}

// Sums by pair: in a square where it is small enough, else of what there is.
class Dense {
  constructor(size) {
    this.size = size;
    this.sums = new Float64Array(size * size);
    this.numbers = new Uint16Array(size * size);
  }
  add(from, to, count) {
    this.sums[from * this.size + to] += count;
    this.numbers[from * this.size + to]++;
  }
  // How many cells were added up.
  seen(from, to) {
    return this.numbers[from * this.size + to] ?? 0;
  }
  has(from, to) {
    return this.seen(from, to) > 0;
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
    this.numbers = {};
  }
  add(from, to, count) {
    const key = from * this.size + to;
    this.sums.set(key, (this.sums.get(key) ?? 0) + count);
    this.numbers[key] = (this.numbers[key] ?? 0) + 1;
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
