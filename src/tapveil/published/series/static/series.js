"use strict";
const $ = (id) => document.getElementById(id);
const HEIGHT = 380, LEFT = 64, RIGHT = 14, TOP = 14, BOTTOM = 34, DAY = 864e5, DATE_WIDE = 76;
const KINDS = ["weekday", "Saturday", "Sunday or holiday"];
const STYLES = ["", "second", "third", "fourth"];
const STYLE_NAMES = ["Solid", "dashed", "dotted", "dash and dot"];
const MOST_ROWS = 500, MANY_DAYS = 120;
let series;

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

// The numbers of a line; where these are in a file next to the page, they are read first.
const handed = new Map(), files = new Map();
window.tapveilPart = (file, text) => handed.get(file)?.(text);
const fileOf = (number) => `series.files/part-${String(number).padStart(4, "0")}.js`;

function read(file) {
  if (!files.has(file)) {
    const text = new Promise((found, failed) => {
      const script = document.createElement("script");
      handed.set(file, found);
      script.onerror = failed;
      script.onload = () => (script.remove(), failed());
      script.src = fileOf(file);
      document.head.append(script);
    });
    files.set(file, text.then(unpacked));
  }
  return files.get(file);
}

async function whole(line) {
  if (!line.file) return line;
  try {
    return { ...line, ...(await read(line.file))[line.at] };
  } catch {
    throw new Error(`This page cannot read ${fileOf(line.file)}. It belongs in the folder next to series.html.`);
  }
}

const dateOf = (day) => new Date(`${day}T00:00Z`);
const iso = (date) => date.toISOString().slice(0, 10);
const monday = (day) => iso(new Date(dateOf(day) - weekdayOf(dateOf(day)) * DAY));
const kindOf = (day) => (series.holidays.includes(day) ? 2 : Math.max(weekdayOf(dateOf(day)) - 4, 0));
const plural = (number, word) => `${number.toLocaleString("en")} ${word}${number === 1 ? "" : "s"}`;
const shown = (number) => number.toLocaleString("en", { maximumFractionDigits: Math.abs(number) < 100 ? 1 : 0 }).replace(/^-0$/, "0").replace("-", "−");
const range = ([low, high]) => `${Number.isFinite(low) ? shown(low) : "not known"} to ${Number.isFinite(high) ? shown(high) : "not known"}`;
const named = (line) => line.names.join(", ") || "all trips";
const spanOf = ([from, to]) => (from === to ? from : `${from} to ${to}`);
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase("en");
const ofDays = (line) => series.kinds[line.kind];

// --- numbers ----------------------------------------------------------------------------------------------------------

const leftOut = (most) => (most === -1 ? Infinity : most);

// The days of a line that a table has, as places in the list of days, if they are within a period.
function placesOf(line, { first, last } = { first: "", last: "~" }) {
  const { absent } = ofDays(line), found = [];
  series.days.forEach((day, at) => first <= day && day <= last && absent[at] !== null && found.push(at));
  return found;
}

// The days before which some are missing.
function startsOf(line) {
  const days = placesOf(line).map((at) => series.days[at]);
  return days.filter((day, i) => i && dateOf(day) - dateOf(days[i - 1]) > DAY);
}

const isPublished = (_, at) => Object.values(series.kinds).some(({ absent }) => absent[at] !== null);

// Days of releases of which nothing is published, as [first, last].
function emptyDays() {
  const found = [];
  series.days.forEach((day, at) => {
    if (isPublished(day, at) || !series.lines.length) return;
    const last = found.at(-1);
    if (last && dateOf(day) - dateOf(last[1]) === DAY) last[1] = day;
    else found.push([day, day]);
  });
  return found;
}

// The numbers of a line on some days, as contrasts need them.
function panelOfLine(line, places) {
  const { absent, noise, gaussian } = ofDays(line);
  const listed = (at) => line.count[at] !== null;
  return {
    days: places.map((at) => dateOf(series.days[at])),
    counts: places.map((at) => line.count[at] ?? 0),
    missing: places.map((at) => leftOut(listed(at) ? (line.missing?.[at] ?? 0) : line.below[at] !== null ? -1 : absent[at])),
    noise: places.map((at) => (listed(at) ? (line.noise ?? noise)[at] : 0)),
    gaussian,
  };
}

const definitionsOf = (line, places) => [...new Set(places.map((at) => ofDays(line).definition[at]).filter(Boolean))];

// A day's number with its interval; without a number where nothing is published.
function pointOf(line, at) {
  const day = series.days[at], { absent, definition } = ofDays(line), of = { day, label: day, definition: definition[at] };
  const count = line.count[at];
  if (count !== null) return { ...of, count, low: count - line.below[at], high: count + line.above[at] };
  const most = line.below[at] !== null ? Infinity : leftOut(absent[at]);
  return { ...of, count: null, low: line.below[at] ?? 0, high: Number.isFinite(most) ? most : null };
}

// The mean of some days, with the interval of its noise; of sums, that of what is listed, with room for the others.
function meanPoint(line, places, label) {
  const panel = panelOfLine(line, places), [low, high] = meanOf(panel).noise;
  const count = places.every((at) => line.count[at] !== null) ? total(panel.counts) / places.length : null;
  return {
    day: series.days[places[0]],
    label,
    definition: ofDays(line).definition[places[0]],
    count,
    low: Math.max(low, Math.min(0, count ?? 0)),
    high: Number.isFinite(high) ? high : null,
  };
}

// Means of days that have the same name; never of days of two definitions.
function grouped(line, places, nameOf) {
  const groups = new Map();
  for (const at of places) {
    const name = nameOf(series.days[at]), key = JSON.stringify([name, ofDays(line).definition[at]]);
    groups.set(key, { name, own: [...(groups.get(key)?.own ?? []), at] });
  }
  const all = [...groups.values()];
  return all.map(({ name, own }) => {
    const split = all.filter((each) => each.name === name).length > 1;
    return meanPoint(line, own, split ? `${name}, from ${series.days[own[0]]} on` : name);
  });
}

const weekName = (day) => `week of ${monday(day)}`;
const yearOf = (day) => iso(new Date(dateOf(monday(day)).valueOf() + 3 * DAY)).slice(0, 4);
const weekOf = (day) => Math.floor((dateOf(monday(day)).valueOf() + 3 * DAY - Date.parse(`${yearOf(day)}-01-01`)) / DAY / 7) + 1;

// What is drawn: {name, points: [{day, x, label, definition, count, low, high}]}.
function lines(line, by) {
  const places = placesOf(line), dated = (point) => ({ ...point, x: Date.parse(point.day) / DAY });
  if (by === "day") return [{ name: "", points: places.map((at) => dated(pointOf(line, at))) }];
  const weeks = by === "kind" ? [] : grouped(line, places, weekName);
  if (by === "week") return [{ name: "", points: weeks.map(dated) }];
  if (by === "year") {
    const years = [...new Set(weeks.map(({ day }) => yearOf(day)))].reverse();
    return years.map((name) => ({
      name,
      points: weeks.filter(({ day }) => yearOf(day) === name).map((point) => ({ ...point, x: weekOf(point.day) })),
    }));
  }
  return KINDS.map((name, kind) => {
    const own = places.filter((at) => kindOf(series.days[at]) === kind);
    return { name, points: grouped(line, own, (day) => `${day.slice(0, 7)}, ${name}`).map(dated) };
  }).filter((each) => each.points.length);
}

// --- the drawing ------------------------------------------------------------------------------------------------------

function element(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function step(most) {
  const rough = most / 5, power = 10 ** Math.floor(Math.log10(rough || 1));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough) || 1;
}

// Dates below, or weeks of the year: as many as there is room for.
function ticks(by, room) {
  if (by === "year") return [1, 10, 20, 30, 40, 50].map((week) => ({ x: week, text: `week ${week}` })).filter((_, i) => room > 5 || i % 2 === 0);
  const { days } = series, months = days.filter((day) => day.endsWith("-01"));
  const some = days.length > 100 && months.length > 1 ? months : days;
  const every = Math.ceil(some.length / room);
  return some.filter((_, i) => i % every === 0).map((day) => ({ x: Date.parse(day) / DAY, text: day }));
}

let drawn = null;

function draw(all, by, chosen) {
  const box = $("drawing"), width = Math.max(300, box.clientWidth), svg = element("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" });
  const points = all.flatMap((each) => each.points);
  const high = Math.max(1, ...points.map((each) => each.high ?? each.count ?? each.low)), tick = step(high), most = tick * Math.ceil(high / tick);
  const least = by === "year" ? 1 : Date.parse(series.days[0]) / DAY, end = by === "year" ? 53 : Date.parse(series.days.at(-1)) / DAY;
  const x = (at) => LEFT + ((at - least) / Math.max(end - least, 1)) * (width - LEFT - RIGHT);
  const y = (count) => HEIGHT - BOTTOM - (Math.max(count, 0) / most) * (HEIGHT - TOP - BOTTOM);
  const tall = { y: TOP, height: HEIGHT - TOP - BOTTOM }, half = Math.max(1, (x(1) - x(0)) / 2);
  if (by !== "year")
    for (const [name, period] of Object.entries(chosen)) {
      const [from, to] = [period.first, period.last].map((day) => x(Date.parse(day) / DAY));
      if (to >= from) svg.append(element("rect", { class: `${name}-days`, x: from - half, width: to - from + 2 * half, ...tall }));
    }
  for (let at = 0; at <= most; at += tick) {
    svg.append(element("line", { class: "grid", x1: LEFT, x2: width - RIGHT, y1: y(at), y2: y(at) }));
    svg.append(element("text", { x: LEFT - 8, y: y(at) + 4, "text-anchor": "end" }, shown(at)));
  }
  let free = 0; // where the text before ends
  for (const { x: at, text } of ticks(by, Math.max(2, Math.floor(width / 110)))) {
    const place = x(at), near = place > width - 80, from = near ? width - RIGHT - DATE_WIDE : place;
    if (from < free) continue;
    free = from + DATE_WIDE;
    svg.append(element("text", { x: near ? width - RIGHT : place, y: HEIGHT - 10, "text-anchor": near ? "end" : "start" }, text));
  }
  const starts = startsOf(drawnLine), named = [];
  all.forEach(({ name, points: own }, style) => {
    line(svg, own, STYLES[style % STYLES.length], x, y, starts);
    const last = own.findLast(({ count }) => count !== null);
    if (by !== "year" || !last) return;
    const at = { x: x(last.x) - 4, y: Math.max(y(last.count) - 8, TOP), "text-anchor": "end" }, aside = at.y < HEIGHT / 2 ? 16 : -16;
    while (named.some((each) => Math.abs(each.x - at.x) < 40 && Math.abs(each.y - at.y) < 16)) at.y += aside; // below or above the others
    named.push(at);
    svg.append(element("text", at, name));
  });
  if (by !== "year")
    for (const day of new Set(breaksOf(drawnLine).map((each) => each.day))) {
      const place = x(Date.parse(day) / DAY), late = place > width - 60;
      svg.append(element("line", { class: "break", x1: place, x2: place, y1: TOP, y2: HEIGHT - BOTTOM }));
      svg.append(element("text", { x: place + (late ? -4 : 4), y: TOP + 10, "text-anchor": late ? "end" : "start" }, "break"));
    }
  const mark = element("circle", { class: "at", r: 6, visibility: "hidden" });
  svg.append(mark);
  box.replaceChildren(svg);
  drawn = { points: points.map((point) => ({ ...point, name: all.find((each) => each.points.includes(point)).name })), x, y, mark, at: -1 };
}

// A line: where nothing is published, where days are missing, and where a definition ends, it is divided.
function line(svg, points, style, x, y, starts) {
  let run = [], before = null;
  const flush = () => {
    if (run.length > 1) {
      const up = run.map((each) => `${x(each.x)},${y(each.high)}`), down = run.map((each) => `${x(each.x)},${y(each.low)}`);
      svg.append(element("polygon", { class: "band", points: [...up, ...down.reverse()].join(" ") }));
      svg.append(element("polyline", { class: `line ${style}`, points: run.map((each) => `${x(each.x)},${y(each.count)}`).join(" ") }));
    } else if (run.length) svg.append(element("circle", { class: "dot", r: 2.5, cx: x(run[0].x), cy: y(run[0].count) }));
    run = [];
  };
  for (const each of points) {
    const divided = before && (each.definition !== before.definition || starts.some((day) => before.day < day && day <= each.day));
    if (each.count === null || divided) flush();
    if (each.count !== null) run.push(each);
    else if (each.high !== null) svg.append(element("rect", { class: "absent", x: x(each.x) - 1.5, width: 3, y: y(each.high), height: Math.max(y(0) - y(each.high), 1) }));
    before = each;
  }
  flush();
}

const breaksOf = (line) => series.breaks.filter((each) => !each.comparable && each.day && each.table === ofDays(line).table);

function pointAt(at) {
  if (!drawn?.points.length) return;
  drawn.at = Math.max(0, Math.min(drawn.points.length - 1, at));
  const point = drawn.points[drawn.at], known = point.count !== null;
  $("point").textContent = `${point.name && !point.label.endsWith(point.name) ? `${point.name}, ` : ""}${point.label}: ${known ? `${shown(point.count)} (${range([point.low, point.high])})` : `not published, ${point.high === null ? "not known" : `between ${shown(point.low)} and ${shown(point.high)}`}`}`;
  const spot = { cx: drawn.x(point.x), cy: drawn.y(known ? point.count : (point.high ?? 0)), visibility: "visible" };
  for (const [key, value] of Object.entries(spot)) drawn.mark.setAttribute(key, value);
}

function hover(event) {
  if (!drawn) return;
  const box = $("drawing").getBoundingClientRect();
  let best = -1, nearest = Infinity;
  drawn.points.forEach((point, at) => {
    const far = Math.hypot(drawn.x(point.x) - (event.clientX - box.left), (drawn.y(point.count ?? 0) - (event.clientY - box.top)) / 4);
    if (far < nearest) [best, nearest] = [at, far];
  });
  if (best >= 0) pointAt(best);
}

function key(event) {
  const move = { ArrowLeft: -1, ArrowRight: 1, PageUp: -7, PageDown: 7, Home: -1e9, End: 1e9 }[event.key];
  if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  pointAt((drawn?.at ?? -1) + move);
}

function fill(table, names, rows) {
  const head = document.createElement("tr");
  for (const name of names) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  table.tHead.replaceChildren(head);
  table.tBodies[0].replaceChildren(
    ...rows.map(({ values, real }) => {
      const row = document.createElement("tr");
      if (real) row.className = "real";
      for (const value of values) row.insertCell().textContent = value;
      return row;
    }),
  );
}

function list(all) {
  const rows = all.flatMap((each) => each.points).map((each) => ({
    values: [each.label, each.count === null ? "not published" : shown(each.count), shown(each.low), each.high === null ? "not known" : shown(each.high)],
  }));
  fill($("numbers"), ["when", "count", "low", "high"], rows);
}

// --- two periods ------------------------------------------------------------------------------------------------------

// What can be chosen: weeks, months and years that the series has days of, newest first.
function offeredPeriods() {
  const groups = [
    ["Weeks", weekName],
    ["Months", (day) => day.slice(0, 7)],
    ["Years", (day) => day.slice(0, 4)],
  ];
  return groups.map(([title, nameOf]) => {
    const found = new Map();
    for (const day of series.days.filter(isPublished)) found.set(nameOf(day), { first: found.get(nameOf(day))?.first ?? day, last: day });
    return [title, [...found].reverse()];
  });
}

const OTHER = "other";

function fillPeriods() {
  for (const side of ["after", "before"]) {
    const groups = offeredPeriods().map(([title, options]) => {
      const group = document.createElement("optgroup");
      group.label = title;
      group.append(...options.map(([name, { first, last }]) => new Option(name, `${first}..${last}`)));
      return group;
    });
    $(side).replaceChildren(...groups, new Option("other days", OTHER));
    for (const end of ["first", "last"])
      Object.assign($(`${side}-${end}`), { min: series.days[0], max: series.days.at(-1), value: end === "first" ? series.days[0] : series.days.at(-1) });
  }
  // At first, the last two weeks that have all their days, and one definition if there are such.
  const [line] = series.lines, weeks = offeredPeriods()[0][1].map(([, period]) => period);
  const complete = weeks.filter(({ first, last }) => Date.parse(last) - Date.parse(first) === 6 * DAY);
  const two = complete.length > 1 ? complete : weeks;
  const alike = (a, b) => line && definitionsOf(line, [a, b].flatMap((period) => placesOf(line, period))).length < 2;
  const at = Math.max(0, two.findIndex((week, i) => i + 1 < two.length && alike(week, two[i + 1])));
  for (const [side, week] of [["after", two[at]], ["before", two[at + 1]]]) $(side).value = week ? `${week.first}..${week.last}` : OTHER;
  showDays();
}

const showDays = () => ["after", "before"].forEach((side) => ($(`${side}-days`).hidden = $(side).value !== OTHER));

function period(side) {
  if ($(side).value === OTHER) return { name: `${$(`${side}-first`).value} to ${$(`${side}-last`).value}`, first: $(`${side}-first`).value, last: $(`${side}-last`).value };
  const [first, last] = $(side).value.split("..");
  return { name: $(side).selectedOptions[0]?.text ?? "", first, last };
}

const periodsChosen = () => ({ after: period("after"), before: period("before") });

// Why two periods cannot be compared on a line; nothing where they can.
function whyNot(line, { after, before }) {
  const [late, early] = [after, before].map((each) => placesOf(line, each));
  if (!late.length || !early.length) return "One of the two periods has no days in this series.";
  if (late.some((at) => early.includes(at))) return "The two periods have days in common: choose others.";
  const found = definitionsOf(line, [...late, ...early]);
  if (found.length < 2) return "";
  const between = breaksOf(line).map((each) => `from ${each.day} on, ${each.what}: ${each.before} → ${each.after}`);
  return `Not compared: these days do not count the same things. Break of definition ${between.join("; ")}.`;
}

// The change of a line from one period to another, and the mean of a day of each.
function compared(line, { after, before }, miss) {
  const [late, early] = [after, before].map((each) => placesOf(line, each));
  const [own] = definitionsOf(line, late), days = placesOf(line);
  const history = days.filter((at) => ofDays(line).definition[at] === own);
  const change = changeOf(panelOfLine(line, late), panelOfLine(line, early), panelOfLine(line, history), miss);
  const [now, then] = [late, early].map((places) => meanOf(panelOfLine(line, places)).value);
  return { ...change, now, then, real: change.days !== null && (change.days[0] > 0 || change.days[1] < 0) };
}

const verdict = ({ days, real, value }) => (days === null ? (Number.isNaN(value) ? "not published on all days" : "too few days to tell") : real ? "real" : "may be chance");
const share = ({ value, then }) => (then > 0 && !Number.isNaN(value) ? `${value < 0 ? "" : "+"}${shown((100 * value) / then)} %` : "");

function said(line, chosen) {
  const why = whyNot(line, chosen);
  if (why) return why;
  const found = compared(line, chosen, MISSES), { value, noise, days } = found, part = share(found);
  const what = Number.isNaN(value)
    ? "some cells of these days are not published"
    : `${value === 0 ? "as many" : `${shown(Math.abs(value))} ${value < 0 ? "fewer" : "more"}`} a day${part && value ? ` (${part})` : ""}`;
  const chance = days ? ` Noise and days: ${range(days)}.` : "";
  const end = { real: "So the change is real.", "may be chance": "So it may be chance.", "too few days to tell": "Too few days to tell whether it is chance." }[verdict(found)] ?? "";
  return `${named(line)}, ${chosen.after.name} against ${chosen.before.name}: ${what}. Noise alone: ${range(noise)}.${chance} ${end}`.trim();
}

// Week against week by place: all places, with both intervals, and how many changes of nothing look real.
async function comparePlaces(own) {
  const chosen = periodsChosen(), places = series.lines.filter((each) => each.kind === "place");
  $("places").hidden = !places.length;
  if (!places.length || !$("places").open) return;
  const why = whyNot(places[0], chosen);
  if (!why) $("compared").textContent = "Reading …";
  const all = why ? [] : await Promise.all(places.map(whole));
  if (own !== turn) return;
  const some = all.filter((each) => [chosen.after, chosen.before].some((period) => placesOf(each, period).some((at) => each.count[at] !== null)));
  const adjusted = $("adjust").checked, miss = adjusted ? MISSES / Math.max(1, some.length) : MISSES;
  const rows = some.map((each) => ({ name: named(each), ...compared(each, chosen, miss) }));
  const far = ({ value }) => (Number.isNaN(value) ? -1 : Math.abs(value)), sure = ({ value, days }) => (days ? Math.abs(value) / Math.max(1e-9, days[1] - value) : -1);
  const orders = { change: (a, b) => far(b) - far(a), sure: (a, b) => sure(b) - sure(a), volume: (a, b) => (b.now || 0) + (b.then || 0) - (a.now || 0) - (a.then || 0), name: () => 0 };
  rows.sort((a, b) => orders[$("sort").value](a, b) || (a.name < b.name ? -1 : 1));
  const real = rows.filter((row) => row.real).length;
  const notes = [`${plural(some.length, "comparison")}, of which ${real.toLocaleString("en")} ${real === 1 ? "looks" : "look"} real.`];
  notes.push(adjusted ? "Intervals hold for all of them together (Bonferroni)." : `By chance alone, at most ${shown(expectedByChance(some.length))} of them look real on average.`);
  if (rows.length > MOST_ROWS) notes.push(`The first ${MOST_ROWS} are listed.`);
  if (all.length > some.length) notes.push(`${plural(all.length - some.length, "place")} without a published number in these periods: not listed.`);
  $("compared").textContent = why || notes.join(" ");
  const number = (value) => (Number.isNaN(value) ? "not published" : shown(value));
  const listed = rows.slice(0, MOST_ROWS).map((row) => ({
    real: row.real,
    values: [row.name, number(row.then), number(row.now), number(row.value), share(row), range(row.noise), row.days ? range(row.days) : "", verdict(row)],
  }));
  fill($("changes"), ["place", "against: a day", "this period: a day", "change", "in per cent", "noise alone", "noise and days", "is it real?"], listed);
}

// --- choices ----------------------------------------------------------------------------------------------------------

let turn = 0, drawnLine = null;

async function show() {
  const own = ++turn, chosen = series.lines[Number($("line").value)];
  if (!chosen) return;
  try {
    const line = await whole(chosen);
    if (own !== turn) return; // something else was chosen by now
    drawnLine = line;
    const by = $("by").value, all = lines(line, by), points = all.flatMap((each) => each.points);
    const published = points.filter((each) => each.count !== null).length;
    const styles = all.map(({ name }, at) => `${at < STYLES.length ? STYLE_NAMES[at] : "again"}: ${by === "kind" ? ["weekdays", "Saturdays", "Sundays and holidays"][KINDS.indexOf(name)] : name}`);
    const broken = breaksOf(line).length ? ` Break of definition: numbers before and after ${[...new Set(breaksOf(line).map((each) => each.day))].join(", ")} do not count the same things.` : "";
    $("found").textContent = `${named(line)}: ${published.toLocaleString("en")} of ${plural(points.length, "number")} published.${all.length > 1 ? ` ${styles.join("; ")}.` : ""}${broken}`;
    $("point").textContent = "";
    draw(all, by, periodsChosen());
    list(all);
    $("change").textContent = said(line, periodsChosen());
    await comparePlaces(own);
  } catch (error) {
    if (own === turn) $("found").textContent = error.message;
  }
}

// The lines to choose from: those with a part of a name, if one was typed.
function offer(text) {
  const find = plain(text), kept = $("line").value, groups = [];
  for (const [kind, title] of [["total", "Whole days"], ["place", "Places"]]) {
    const group = document.createElement("optgroup");
    group.label = title;
    series.lines.forEach((line, at) => {
      if (line.kind === kind && (!find || plain(named(line)).includes(find))) group.append(new Option(named(line), at));
    });
    if (group.children.length) groups.push(group);
  }
  $("line").replaceChildren(...groups);
  if ([...$("line").options].some((option) => option.value === kept)) $("line").value = kept;
  else if (find) show();
}

async function main() {
  series = await unpacked($("data").textContent);
  $("title").textContent = series.title;
  const days = series.days;
  $("span").textContent = `${plural(series.releases.length, "release")}, ${plural(days.length, "day")}${days.length ? `, ${days[0]} to ${days[days.length - 1]}` : ""}`;
  if (new Set(days.map(yearOf)).size < 2) $("by").querySelector("[value=year]").remove();
  if (days.length > MANY_DAYS) $("by").value = "week"; // of more days, a line shows little but its weekends
  offer("");
  const notes = [
    ...series.breaks.map((each) => `${each.comparable ? "Changed" : "Break"} from ${each.day || each.release} on, table ${each.table}: ${each.what}: ${each.before} → ${each.after}`),
    ...series.gaps.map((days) => `Gap: no release has ${spanOf(days)}`),
    ...emptyDays().map((days) => `No number is published of ${spanOf(days)}`),
  ];
  for (const note of notes.length ? notes : ["None."]) {
    const item = document.createElement("li");
    item.textContent = note;
    $("breaks").append(item);
  }
  if (days.length) fillPeriods();
  if (!series.lines.length) $("found").textContent = "No table of this series has whole days or places by day: see its Parquet files.";
  for (const form of ["choice", "periods", "order"]) {
    $(form).addEventListener("change", () => (showDays(), show()));
    $(form).addEventListener("submit", (event) => event.preventDefault());
  }
  $("find").addEventListener("input", () => offer($("find").value));
  $("places").addEventListener("toggle", show);
  $("drawing").addEventListener("pointermove", hover);
  $("drawing").addEventListener("keydown", key);
  let width = window.innerWidth;
  window.addEventListener("resize", () => width !== window.innerWidth && ((width = window.innerWidth), show()));
  await show();
  document.body.dataset.ready = "yes";
  performance.mark("drawn");
}
main();
