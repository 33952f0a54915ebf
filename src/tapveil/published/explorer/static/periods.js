// Days, one or several: a kind of day, a week, a month, or from one day to another. Each has a code, as days have: those
// of several days come after those of the days. In the address they are called by their names.

const KINDS_OF_DAY = ["weekday", "saturday", "sunday"];
const KIND_TITLES = { weekday: "weekdays", saturday: "Saturdays", sunday: "Sundays and holidays" };
const ONE_OF_A_KIND = { weekday: "weekday", saturday: "Saturday", sunday: "Sunday or holiday" };
const ofKind = (n, kind) => `${number(n)} ${(n === 1 ? ONE_OF_A_KIND : KIND_TITLES)[kind]}`;

class Periods {
  constructor(release) {
    this.release = release;
    this.days = (release.day && release.labels[release.day]) || [];
    this.dated = this.days.length > 0 && this.days.every((label) => dayOf(label));
    this.known = [];
    this.codes = new Map();
  }

  kindOf(code) {
    const label = this.days[code],
      day = dayOf(label)?.getUTCDay();
    return this.release.holidays.includes(label) || day === 0 ? "sunday" : day === 6 ? "saturday" : "weekday";
  }

  // The code of a day or of several, by name; -1 where this release has no such days.
  code(name) {
    const day = this.days.indexOf(name);
    if (day >= 0 || !name) return day;
    if (!this.codes.has(name)) {
      const own = this.named(name);
      if (!own?.length) return -1;
      this.codes.set(name, this.days.length + this.known.length);
      this.known.push({ name, own });
    }
    return this.codes.get(name);
  }

  // all · weekday · 2025-03 · 2025-03-03..2025-03-09 · 2025-03 weekday
  named(name) {
    const [, span, kind] = /^(\S+?)(?: (weekday|saturday|sunday))?$/.exec(name) ?? [];
    const all = this.days.map((_, code) => code);
    if (span === undefined) return null;
    if (span === "all" && !kind) return all;
    if (KINDS_OF_DAY.includes(span) && !kind) return this.dated ? all.filter((code) => this.kindOf(code) === span) : null;
    const [first, last] = span.split("..").map((label) => this.days.indexOf(label));
    const some =
      last !== undefined
        ? first >= 0 && last >= first
          ? all.slice(first, last + 1)
          : []
        : /^\d{4}-\d\d$/.test(span) && this.dated
          ? all.filter((code) => isoOf(this.days[code]).startsWith(span))
          : [];
    return kind ? (this.dated ? some.filter((code) => this.kindOf(code) === kind) : null) : some;
  }

  name(code) {
    return code < this.days.length ? this.days[code] : this.known[code - this.days.length]?.name;
  }

  // The days of a code.
  of(code) {
    return code < this.days.length ? [code] : (this.known[code - this.days.length]?.own ?? []);
  }

  // The days of a part, if it is of several; else null.
  several(part) {
    const code = this.release.day ? part[this.release.day] : -1;
    return code >= this.days.length ? this.of(code) : null;
  }

  title(code) {
    if (code < this.days.length) return dayTitle(this.days[code]);
    const { name, own } = this.known[code - this.days.length];
    const [span, kind] = name.split(" ");
    const what = KIND_TITLES[span] || kind ? ofKind(own.length, kind ?? span) : plural(own.length, "day");
    if (KIND_TITLES[span]) return `mean of ${what}`;
    if (span === "all") return `mean of all ${what}`;
    return `mean of ${what}, ${spanTitle(this.days[own[0]], this.days[own.at(-1)])}`;
  }

  // What can be chosen besides single days: [title, codes]. Weeks and months where there are several.
  get offered() {
    if (this.days.length < 2) return [];
    const found = [["All days", [this.code("all")]]];
    if (!this.dated) return found;
    const kinds = KINDS_OF_DAY.filter((kind) => this.named(kind).length);
    if (kinds.length > 1) found.push(["Kinds of day", kinds.map((kind) => this.code(kind))]);
    const grouped = (nameOf) => {
      const groups = new Map();
      this.days.forEach((label, code) => {
        const name = nameOf(label);
        groups.set(name, [...(groups.get(name) ?? []), code]);
      });
      return [...groups];
    };
    const weeks = grouped((label) => mondayOf(label)).filter(([, own]) => own.length > 1);
    if (weeks.length > 1)
      found.push(["Weeks", weeks.map(([, own]) => this.code(`${this.days[own[0]]}..${this.days[own.at(-1)]}`))]);
    const months = grouped((label) => isoOf(label).slice(0, 7)).filter(([, own]) => own.length > 1);
    if (months.length > 1) {
      found.push(["Months", months.map(([month]) => this.code(month))]);
      const weekdays = months.map(([month]) => this.code(`${month} weekday`)).filter((code) => code >= 0);
      found.push(["Weekdays of a month", weekdays]);
    }
    return found;
  }
}

const isoOf = (label) => dayOf(label).toISOString().slice(0, 10);
const mondayOf = (label) => {
  const day = dayOf(label);
  return new Date(day.valueOf() - ((day.getUTCDay() + 6) % 7) * 864e5).toISOString().slice(0, 10);
};

// From one day to another, without saying twice what is the same.
function spanTitle(first, last) {
  if (!dayOf(first) || !dayOf(last)) return first === last ? first : `${first} to ${last}`;
  return SPAN.formatRange(dayOf(first), dayOf(last));
}
const SPAN = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
