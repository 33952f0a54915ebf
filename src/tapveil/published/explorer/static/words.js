// Words for tables, places, days and numbers; and text that is never taken for markup.

const NUMBER = new Intl.NumberFormat("en");
const number = (n) => NUMBER.format(n);
const plural = (n, word) => `${number(n)} ${n === 1 ? word : word + "s"}`;
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

// An element; strings become text nodes, whatever they hold.
function el(name, properties = {}, ...children) {
  const svg = ["svg", "g", "path", "rect", "line", "text", "circle", "title", "defs", "pattern"].includes(name);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const at = (id) => document.getElementById(id);
// Names may run from right to left: they keep to themselves.
const bidi = (text) => el("bdi", {}, text);

function dayOf(label) {
  const parts = /^(\d{4})-?(\d\d)-?(\d\d)$/.exec(label);
  return parts ? new Date(Date.UTC(+parts[1], +parts[2] - 1, +parts[3])) : null;
}

const DAY = new Intl.DateTimeFormat("en-GB", {
  weekday: "short",
  day: "numeric",
  month: "short",
  year: "numeric",
  timeZone: "UTC",
});

function dayTitle(label) {
  const day = dayOf(label);
  return day && !Number.isNaN(day.valueOf()) ? DAY.format(day) : label;
}

const CHANGES_OF_ESTIMATES = "How much of a change of estimates is noise is not known: see the measurements.";

class Words {
  constructor(release) {
    this.release = release;
    this.titles = new Map();
    for (const set of Object.values(release.sets)) {
      const tables = set.map((table) => [table, this.tableTitle(table)]);
      for (const [table, title] of tables) {
        const alone = tables.filter(([, other]) => other === title).length === 1;
        this.titles.set(table, alone ? title : `${title} · ${table.name}`);
      }
    }
  }

  counted(n) {
    return n === 1 && this.release.counted.endsWith("s") ? this.release.counted.slice(0, -1) : this.release.counted;
  }

  kindTitle(kind) {
    return { location: "place", time: "time", date: "day" }[kind];
  }

  columnTitle(column) {
    const kind = this.kindTitle(this.release.kinds[column]);
    const side = /(^|_)on(_|$)/.test(column) ? "tap-on " : /(^|_)off(_|$)/.test(column) ? "tap-off " : "";
    return side && kind ? side + kind : column === "date" ? "day" : column.replaceAll("_", " ");
  }

  side(table) {
    const ends = table.columns.filter((column) => table.kind(column) === "location");
    return { on: "Tap-on", off: "Tap-off", both: ends.length > 1 ? "From where to where" : "", "": "" }[sideOf(table)];
  }

  bins(table) {
    if (!table.times.length) return "";
    const minutes = table.times.map((label, i) => clock(table.until[i]) - clock(label));
    if (minutes.some((each) => each !== minutes[0])) return "parts of the day";
    return minutes[0] % 60 ? `${minutes[0]} min` : plural(minutes[0] / 60, "hour");
  }

  tableTitle(table) {
    const side = sideOf(table);
    const kinds = table.columns.map((column) =>
      side === "both" || !this.kindTitle(table.kind(column))
        ? this.columnTitle(column)
        : this.kindTitle(table.kind(column)),
    );
    const finer = [this.bins(table), table.wider && `by ${table.wider}`].filter(Boolean).join(", ");
    if (
      side === "both" &&
      table.columns.filter((column) => table.kind(column) === "location").length === 2 &&
      table.columns.every((column) => ["location", "time"].includes(table.kind(column)))
    )
      return `From where to where${finer ? ` (${finer})` : ""}`;
    const what = kinds.sort((a, b) => (a === "place" ? -1 : b === "place" ? 1 : 0)).join(" × ");
    return `${this.side(table) ? this.side(table) + ": " + what : capital(what)}${finer ? ` (${finer})` : ""}`;
  }

  title(table) {
    return this.titles.get(table);
  }

  label(table, column, code, part) {
    if (column === this.release.day) return this.release.periods.title(code);
    const label = table.labels(column)[code];
    const kind = table.kind(column);
    if (kind === "time") return label === "-1" ? "no time" : label;
    if (kind === "duration") return label === "-1" ? "no duration" : `${label} or longer`;
    if (kind === "location") return this.place(label, part);
    return kind === "date" || column === "date" ? dayTitle(label) : label;
  }

  place(label, part) {
    const mode = this.release.labels.mode?.[part.mode];
    const title = this.release.shape(mode, label)?.properties.title;
    return title ? `${title} (${label})` : label;
  }

  span(table, code) {
    return code === 0 ? "no time" : `${table.times[code - 1]} to ${table.until[code - 1]}`;
  }

  // All that a release has for a place, where no time is chosen.
  whole(view) {
    return !view.day ? "all days together" : view.several ? "whole days" : "the whole day";
  }

  // What it means that a cell is not published. Of a public list that this page does not know, only its cells are small.
  absent(table) {
    return `0 to ${number(table.absent)}${this.release.from_a_list ? " if it is on the list; otherwise not counted" : ""}`;
  }

  // A number with what it stands for; a suppressed one is named as such.
  cell(table, spot) {
    const { count, low, high } = spot;
    if (count === SUPPRESSED) return { text: "not published", range: this.absent(table), absent: true };
    const open = spot.missing && this.release.from_a_list;
    const range = low === null ? "" : open ? `${amount(low)} or more` : `${amount(low)} to ${amount(high)}`;
    return { text: amount(count), range, absent: false };
  }

  // By how much a cell differs between the two periods, and both intervals, in words.
  change(change) {
    if (change.value === null) return { text: "unknown", noise: "", days: "" };
    const range = (ends) => (ends ? ends.map(signed).join(" to ") : "");
    return { text: signed(change.value), noise: range(change.noise), days: range(change.days) };
  }

  compared(table, now, then, change, view) {
    const day = (code) => this.label(table, view.day, code, view.part),
      { text, noise, days } = this.change(change);
    return [
      `${capital(day(view.part[view.day]))}: ${this.sentence(table, now)}`,
      `${capital(day(view.vs))}: ${this.sentence(table, then)}`,
      `Change: ${text}`,
      noise && `noise alone: ${noise}`,
      days && `noise and chance between days: ${days}${inside0(change.days) ? ", so it may be chance" : ""}`,
    ].filter(Boolean);
  }

  sentence(table, spot) {
    const { text, range, absent } = this.cell(table, spot);
    if (absent)
      return `not published: 0 to ${number(table.absent)} ${this.release.counted}${spot.days ? " a day" : ""}${this.absent(table).slice(`0 to ${number(table.absent)}`.length)}`;
    const what = `${table.estimate ? "about " : ""}${text} ${this.counted(spot.count)}${spot.days ? " a day" : ""}`;
    if (spot.missing)
      return `${what} listed, on ${number(spot.days - spot.missing)} of ${number(spot.days)} days; with the others ${range.includes(" to ") ? `between ${range.replace(" to ", " and ")}` : range}`;
    return range ? `${what}, between ${range.replace(" to ", " and ")}` : what;
  }

  // How much an estimate rests on its own measurement.
  weight(spot) {
    return spot.weight === null ? "" : `${spot.weight} % by its own measurement`;
  }

  // What an interval is: proved of measurements, measured of estimates.
  interval(table) {
    return table.estimate ? "95 % interval, measured, not proved" : "95 % interval";
  }
}

// Counts are whole; means have a digit behind the point where they are small.
const amount = (n) => {
  const fine = Number.isInteger(n) || Math.abs(n) >= 100 ? 1 : 10;
  return number(Math.round(fine * n) / fine);
};
const signed = (n) => (n > 0 ? "+" : "") + amount(n);
const inside0 = (ends) => ends && ends[0] <= 0 && ends[1] >= 0;

const clock = (label) => {
  const [hours, minutes] = label.split(":");
  return 60 * hours + +minutes;
};

// Names as people order them: accents next to their letters, 2 before 10.
const COLLATOR = new Intl.Collator("en", { numeric: true });
const byName = (labels) => (a, b) => COLLATOR.compare(labels[a], labels[b]);
const isDay = (table, column) => column === "date" || table.kind(column) === "date";

// For searching: case and accents do not matter.
const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLocaleLowerCase("en");
