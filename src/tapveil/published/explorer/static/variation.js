// Is it real? What is the noise that was added, and what is chance between days: the same as in tapveil's reader
// (published/variation.py), for one cell. A contrast is a weighted sum over days, and has two intervals: that of the
// noise, and that of days like these, which holds both.

const MISSES = 0.05;
const CAUTION = 0.7;
// How many of several comparisons look real though nothing changed, at most on average.
const expectedByChance = (comparisons) => Math.ceil(10 * MISSES * comparisons - 1e-9) / 10;
const FEWEST = 3;
const FEWEST_WEEKS = 5;
const CLEAR = 8;

// Standard deviations within which noise stays, but for one case in twenty or another probability.
function noiseQuantile(gaussian, miss = MISSES) {
  const normal = normalQuantile(miss);
  return gaussian ? normal : Math.max(normal, -Math.log(miss) / Math.SQRT2);
}

// The value of x for which a rising function reaches what is wanted.
function solved(rising, wanted) {
  let [low, high] = [0, 1];
  while (rising(high) < wanted) high *= 2;
  for (let i = 0; i < 60; i++) {
    const middle = (low + high) / 2;
    if (rising(middle) < wanted) low = middle;
    else high = middle;
  }
  return high;
}

const quantiles = new Map();
function remembered(key, find) {
  if (!quantiles.has(key)) quantiles.set(key, find());
  return quantiles.get(key);
}

// P(|Z| ≤ x) of a normal distribution, by Abramowitz and Stegun, 26.2.11: all terms are positive.
function normalWithin(x) {
  let [term, total] = [x, x];
  for (let n = 3; term > total * 1e-17; n += 2) {
    term *= (x * x) / n;
    total += term;
  }
  return 2 * total * Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI);
}
const normalQuantile = (miss) => remembered(`normal ${miss}`, () => solved(normalWithin, 1 - miss));

// Student's t, by the finite sums of Abramowitz and Stegun, 26.7.3 and 26.7.4, and bisection.
function studentWithin(t, freedom) {
  const angle = Math.atan(t / Math.sqrt(freedom)),
    odd = freedom % 2,
    squared = Math.cos(angle) ** 2;
  let term = odd ? Math.cos(angle) : 1,
    total = term;
  for (let n = odd ? 3 : 2; n < freedom - 1; n += 2) {
    term *= (squared * (n - 1)) / n;
    total += term;
  }
  if (!odd) return Math.sin(angle) * total;
  return (2 / Math.PI) * (angle + (freedom > 1 ? Math.sin(angle) * total : 0));
}

const studentQuantile = (freedom, miss) =>
  remembered(`${freedom} ${miss}`, () => solved((t) => studentWithin(t, freedom), 1 - CAUTION * miss));

const total = (values) => values.reduce((sum, value) => sum + value, 0);
const weekdayOf = (day) => (day.getUTCDay() + 6) % 7;
// Which days are alike: days of the week, or its kinds, from fine to coarse.
const ALIKE = [(name) => name, (name) => Math.max(name, 4), (name) => +(name > 4)];

function strata(days, others) {
  const names = days.map(weekdayOf);
  for (const alike of ALIKE) {
    const labels = names.map(alike);
    if (days.length - new Set(labels).size - others >= FEWEST) return labels;
  }
  return days.map(() => 0);
}

// The finest strata that both periods have days of.
function commonStrata(before, after) {
  for (const alike of ALIKE) {
    const [one, two] = [before, after].map((days) => days.map((day) => alike(weekdayOf(day))));
    const key = (labels) => [...new Set(labels)].sort().join();
    if (key(one) === key(two)) return [...one, ...two];
  }
  return [...before, ...after].map(() => 0);
}

// The variance of counts around what strata and some periods explain, and its degrees of freedom.
function residual(counts, labels, periods) {
  const groups = new Map();
  labels.forEach((label, i) => groups.set(label, [...(groups.get(label) ?? []), i]));
  const centred = (values) => {
    const found = [...values];
    for (const own of groups.values()) {
      const mean = total(own.map((i) => values[i])) / own.length;
      for (const i of own) found[i] -= mean;
    }
    return found;
  };
  const dot = (a, b) => total(a.map((value, i) => value * b[i]));
  const without = (values, basis) =>
    basis.reduce((rest, each) => {
      const along = dot(rest, each) / dot(each, each);
      return rest.map((value, i) => value - along * each[i]);
    }, values);
  const basis = [];
  for (const period of periods) {
    const own = without(centred(period), basis);
    if (dot(own, own) > 1e-9) basis.push(own);
  }
  const rest = without(centred(counts), basis),
    freedom = counts.length - groups.size - basis.length;
  return freedom < FEWEST ? { variance: NaN, freedom: 0 } : { variance: dot(rest, rest) / freedom, freedom };
}

// The variance of the mean of a week, from how each week differs from the next (von Neumann 1941).
function betweenWeeks(panel) {
  const weeks = new Map();
  panel.days.forEach((day, i) => {
    const monday = day.valueOf() - weekdayOf(day) * 864e5;
    weeks.set(monday, [...(weeks.get(monday) ?? []), panel.counts[i]]);
  });
  const means = [...weeks.values()].filter((own) => own.length === 7).map((own) => total(own) / 7);
  if (means.length < FEWEST_WEEKS) return { variance: NaN, freedom: 0 };
  const steps = means.slice(1).map((mean, i) => (mean - means[i]) ** 2);
  return { variance: total(steps) / steps.length / 2, freedom: Math.floor((2 * (means.length - 1)) / 3) };
}

function chance(found, weights, miss, week, weeks) {
  const squared = total(weights.map((weight) => weight ** 2));
  const own = found.freedom ? studentQuantile(found.freedom, miss) * Math.sqrt(found.variance * squared) : NaN;
  if (!week?.freedom) return own;
  const among = studentQuantile(week.freedom, miss) * Math.sqrt(week.variance * weeks);
  return Number.isNaN(own) ? among : Math.max(own, among);
}

// A contrast, from the numbers of days: {days, counts, missing, noise, gaussian}.
function contrast(panel, weights, found, miss = MISSES) {
  const value = total(panel.counts.map((count, i) => count * weights[i])),
    sum = (sign) => total(panel.missing.map((most, i) => (most && sign * weights[i] > 0 ? most * sign * weights[i] : 0))),
    step = Math.max(...weights.map(Math.abs)),
    spread = Math.sqrt(total(panel.noise.map((variance, i) => variance * weights[i] ** 2))),
    noise = Math.ceil((spread * noiseQuantile(panel.gaussian, miss)) / step - 1e-9) * step,
    complete = panel.missing.every((most) => most === 0),
    half = complete ? Math.max(chance(found, weights, miss), noise) : NaN;
  return { value: complete ? value : NaN, noise: [value - sum(-1) - noise, value + sum(1) + noise], width: noise, half };
}

function meanOf(panel) {
  const weights = panel.days.map(() => 1 / panel.days.length);
  const found = contrast(panel, weights, residual(panel.counts, strata(panel.days, 0), []));
  return intervals(found, found.half);
}

// Without errors of floating point: a difference of nothing is 0, and what ends at 0 is not beyond it.
const rounded = (number) => Math.round(number * 1e9) / 1e9 + 0;
const intervals = ({ value, noise }, half) => ({
  value: rounded(value),
  noise: noise.map(rounded),
  days: Number.isNaN(half) ? null : [value - half, value + half].map(rounded),
});

// By how much a mean day of a period differs from that of another, days of the week being compared alike.
function changeOf(after, before, history, miss = MISSES) {
  const panel = Object.fromEntries(
    ["days", "counts", "missing", "noise"].map((name) => [name, [...before[name], ...after[name]]]),
  );
  panel.gaussian = after.gaussian;
  const early = before.days.length,
    late = panel.days.map((_, i) => +(i >= early)),
    alike = commonStrata(before.days, after.days),
    sizes = new Map();
  alike.forEach((label, i) => {
    const own = sizes.get(label) ?? [0, 0];
    own[late[i]]++;
    sizes.set(label, own);
  });
  const share = ([a, b]) => (a * b) / (a + b),
    all = total([...sizes.values()].map(share));
  const weights = alike.map(
    (label, i) => ((late[i] ? 1 : -1) * share(sizes.get(label))) / all / sizes.get(label)[late[i]],
  );
  const squared = total(weights.map((weight) => weight ** 2));
  const found = contrast(panel, weights, residual(panel.counts, strata(panel.days, 1), [late]), miss);
  let { half } = found;
  const complete = panel.missing.every((most) => most === 0);
  const products = asProducts(panel, late);
  if (products && complete)
    half = Math.max(studentQuantile(products.freedom, miss) * Math.sqrt(products.variance * squared), found.width);
  if (history && history.days.length > panel.days.length && complete && history.missing.every((most) => most === 0)) {
    const in_ = (period) => history.days.map((day) => +period.days.some((own) => own.valueOf() === day.valueOf()));
    const periods = [in_(before), in_(after)];
    const rest = history.days.map((_, i) => i).filter((i) => !periods[0][i] && !periods[1][i]);
    const others = { days: rest.map((i) => history.days[i]), counts: rest.map((i) => history.counts[i]) };
    const weeks = 7 / before.days.length + 7 / after.days.length;
    const explained = residual(history.counts, strata(history.days, 2), periods);
    const wide = chance(explained, weights, miss, betweenWeeks(others), weeks);
    half = Number.isNaN(wide) ? NaN : Math.max(wide, found.width);
  }
  return intervals(found, half);
}

// The residual variance of two periods of whole weeks in numbers that are products of a day of the week and a period.
// Null where periods are no whole weeks, or the total is hardly more than its noise, so that there are no shares of it.
function asProducts(panel, late) {
  const names = panel.days.map(weekdayOf);
  const cells = Array.from({ length: 7 }, (_, name) =>
    [0, 1].map((period) => names.map((_, i) => i).filter((i) => names[i] === name && late[i] === period)),
  );
  for (const period of [0, 1]) {
    const sizes = new Set(cells.map((pair) => pair[period].length));
    if (sizes.size > 1 || sizes.has(0)) return null;
  }
  const means = cells.map((pair) => pair.map((own) => total(own.map((i) => panel.counts[i])) / own.length));
  const sums = [0, 1].map((period) => total(means.map((pair) => pair[period]))),
    all = sums[0] + sums[1];
  let squares = 0;
  cells.forEach((pair, name) =>
    pair.forEach((own, period) => {
      const expected = (total(means[name]) * sums[period]) / all;
      squares += total(own.map((i) => (panel.counts[i] - expected) ** 2));
    }),
  );
  const noiseOfMean = (days) => total(days.map((i) => panel.noise[i])) / days.length ** 2,
    clear = CLEAR * Math.sqrt(total(cells.flat().map(noiseOfMean)));
  if (all <= 0 || all < clear) return null;
  const freedom = panel.days.length - 8,
    variance = squares / freedom,
    levels = means.map((pair) => Math.max(0, total(pair) / 2)),
    noise = total(panel.noise) / panel.noise.length,
    part =
      Math.max(0, variance - noise - total(levels) / 7) / Math.max(1, total(levels.map((level) => level ** 2)) / 7),
    each = levels.map((level) => noise + level + part * level ** 2),
    as = noise + total(levels) > 0 ? total(each) ** 2 / Math.max(1e-9, total(each.map((x) => x ** 2))) : 7;
  return { variance, freedom: Math.max(1, roundHalfEven((freedom * as) / 7)) };
}

// As numpy rounds.
const roundHalfEven = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

// The numbers of a cell on some days; of what is not listed, how much it may be.
function panelOf(table, part, wanted, days) {
  const absent = table.release.from_a_list ? Infinity : table.absent,
    rows = table.partsOf(part, days).map((each) => table.find(each, wanted));
  return {
    days: days.map((code) => dayOf(table.release.periods.days[code])),
    counts: rows.map((row) => (row < 0 ? 0 : table.counts[row])),
    missing: rows.map((row) => (row < 0 && !table.release.every_cell ? absent : 0)),
    noise: rows.map((row) => (row < 0 ? 0 : table.noiseOf(row))),
    gaussian: table.gaussian,
    rows,
  };
}
