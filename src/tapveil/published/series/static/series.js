"use strict";
const $ = (id) => document.getElementById(id);
const WIDTH = 1100, HEIGHT = 380, LEFT = 70, RIGHT = 14, TOP = 14, BOTTOM = 34;
const KINDS = ["weekday", "Saturday", "Sunday"];
const STYLES = ["", "second", "third"];
let series;

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text.trim()), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const weekday = (day) => (new Date(`${day}T00:00Z`).getUTCDay() + 6) % 7;
const monday = (day) => new Date(Date.parse(`${day}T00:00Z`) - weekday(day) * 864e5).toISOString().slice(0, 10);
const kindOf = (day) => Math.max(weekday(day) - 4, 0);
const shown = (number) => number.toLocaleString("en", { maximumFractionDigits: Math.abs(number) < 100 ? 1 : 0 });

function absents(line) {
  return line.absent || series.lines.find((each) => each.kind === line.kind && each.absent).absent;
}

// The numbers of days, each with its interval; without a number where nothing is published.
function daily(line) {
  const most = absents(line);
  return series.days.map((day, at) => {
    const count = line.count[at];
    if (count === null) return { day, label: day, count: null, low: 0, high: most[at] < 0 ? null : most[at] };
    if (count < 0) return { day, label: day, count: null, low: Math.max(count - line.below[at], 0), high: null };
    return { day, label: day, count, low: count - line.below[at], high: count + line.above[at] };
  });
}

// The mean of some days: half-widths of independent noise add up like the sides of right angles.
function mean(days, label) {
  const day = days[0].day;
  if (days.some((each) => each.count === null)) {
    const known = days.every((each) => each.high !== null);
    const sum = (name) => days.reduce((all, each) => all + each[name], 0) / days.length;
    return { day, label, count: null, low: sum("low"), high: known ? sum("high") : null, days: days.length };
  }
  const count = days.reduce((all, each) => all + each.count, 0) / days.length;
  const half = (of) => Math.sqrt(days.reduce((all, each) => all + of(each) ** 2, 0)) / days.length;
  const low = count - half((each) => each.count - each.low), high = count + half((each) => each.high - each.count);
  return { day, label, count, low, high, days: days.length };
}

function grouped(days, nameOf) {
  const groups = new Map();
  for (const each of days) {
    const name = nameOf(each.day);
    groups.set(name, [...(groups.get(name) || []), each]);
  }
  return [...groups].map(([name, own]) => mean(own, name));
}

function lines(line, by) {
  const days = daily(line);
  if (by === "day") return [{ name: "", points: days }];
  if (by === "week") return [{ name: "", points: grouped(days, (day) => `week of ${monday(day)}`) }];
  return KINDS.map((name, kind) => {
    const own = days.filter((each) => kindOf(each.day) === kind);
    return { name, points: grouped(own, (day) => `${day.slice(0, 7)}, ${name}`) };
  }).filter((each) => each.points.length);
}

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

function draw(all) {
  const svg = $("drawing");
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  const first = Date.parse(series.days[0]), last = Date.parse(series.days[series.days.length - 1]);
  const points = all.flatMap((each) => each.points);
  const most = Math.max(1, ...points.map((each) => each.high ?? each.low));
  const x = (day) => LEFT + ((Date.parse(day) - first) / Math.max(last - first, 1)) * (WIDTH - LEFT - RIGHT);
  const y = (count) => HEIGHT - BOTTOM - (count / most) * (HEIGHT - TOP - BOTTOM);
  for (let at = 0; at <= most; at += step(most)) {
    svg.append(element("line", { class: "grid", x1: LEFT, x2: WIDTH - RIGHT, y1: y(at), y2: y(at) }));
    svg.append(element("text", { x: LEFT - 8, y: y(at) + 4, "text-anchor": "end" }, shown(at)));
  }
  const every = Math.max(1, Math.ceil(series.days.length / 8));
  series.days.forEach((day, at) => {
    if (at % every === 0) svg.append(element("text", { x: x(day), y: HEIGHT - 10 }, day));
  });
  all.forEach(({ points }, style) => {
    let run = [];
    const flush = () => {
      if (!run.length) return;
      const up = run.map((each) => `${x(each.day)},${y(each.high)}`), down = run.map((each) => `${x(each.day)},${y(Math.max(each.low, 0))}`);
      if (run.length > 1) svg.append(element("polygon", { class: "band", points: [...up, ...down.reverse()].join(" ") }));
      const path = run.map((each) => `${x(each.day)},${y(each.count)}`).join(" ");
      svg.append(run.length > 1 ? element("polyline", { class: `line ${STYLES[style]}`, points: path }) : element("circle", { class: "dot", r: 2.5, cx: x(run[0].day), cy: y(run[0].count) }));
      run = [];
    };
    let before = null;
    for (const each of points) {
      if (each.count === null) {
        flush();
        if (each.high !== null) svg.append(element("rect", { class: "absent", x: x(each.day) - 1.5, width: 3, y: y(each.high), height: Math.max(y(0) - y(each.high), 1) }));
      } else {
        const ends = [...series.gaps.map(([from]) => from), ...series.breaks.filter((found) => !found.comparable).map((found) => found.day)];
        if (all.length === 1 && before && ends.some((end) => before.day < end && end <= each.day)) flush();
        run.push(each);
        before = each;
      }
    }
    flush();
  });
  for (const day of new Set(series.breaks.filter((each) => !each.comparable && each.day).map((each) => each.day))) {
    svg.append(element("line", { class: "break", x1: x(day), x2: x(day), y1: TOP, y2: HEIGHT - BOTTOM }));
    svg.append(element("text", { x: x(day) + 4, y: TOP + 10 }, "break"));
  }
}

function list(all) {
  const head = document.createElement("tr");
  for (const name of ["when", "count", "low", "high"]) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    head.append(cell);
  }
  $("numbers").tHead.replaceChildren(head);
  const rows = all.flatMap((each) => each.points).map((each) => {
    const row = document.createElement("tr");
    const values = [each.label, each.count === null ? "not published" : shown(each.count), shown(each.low), each.high === null ? "not known" : shown(each.high)];
    for (const value of values) row.insertCell().textContent = value;
    return row;
  });
  $("numbers").tBodies[0].replaceChildren(...rows);
}

function show() {
  const line = series.lines[Number($("line").value)];
  if (!line) return;
  const all = lines(line, $("by").value), points = all.flatMap((each) => each.points);
  const published = points.filter((each) => each.count !== null).length;
  const kinds = all.length > 1 ? ` Solid: weekdays; dashed: Saturdays; dotted: Sundays.` : "";
  $("found").textContent = `${line.names.join(", ") || "all trips"}: ${published} of ${points.length} numbers published.${kinds}`;
  draw(all);
  list(all);
}

async function main() {
  series = await unpacked($("data").textContent);
  $("title").textContent = series.title;
  const days = series.days;
  $("span").textContent = `${series.releases.length} releases, ${days.length} days${days.length ? `, ${days[0]} to ${days[days.length - 1]}` : ""}`;
  for (const [kind, title] of [["total", "Whole days"], ["place", "Places"]]) {
    const group = document.createElement("optgroup");
    group.label = title;
    series.lines.forEach((line, at) => {
      if (line.kind === kind) group.append(new Option(line.names.join(", ") || "all trips", at));
    });
    if (group.children.length) $("line").append(group);
  }
  const notes = [
    ...series.breaks.map((each) => `${each.comparable ? "Changed" : "Break"} from ${each.day || each.release} on, table ${each.table}: ${each.what}: ${each.before} → ${each.after}`),
    ...series.gaps.map(([from, to]) => `Gap: no release has ${from}${from === to ? "" : ` to ${to}`}`),
  ];
  for (const note of notes.length ? notes : ["None."]) {
    const item = document.createElement("li");
    item.textContent = note;
    $("breaks").append(item);
  }
  $("choice").addEventListener("change", show);
  $("choice").addEventListener("submit", (event) => event.preventDefault());
  show();
  document.body.dataset.ready = "yes";
}
main();
