// What is being looked at. The address bar keeps it, by names, so that a view can be shared and opened again.

const OWN = ["table", "compare", "place", "time", "find", "sort", "show", "theme", "numbers", "flows", "days", "order"];
const FLOWS = ["map", "matrix", "list"];
const ORDERS = ["area", "linked", "volume", "name"];

// What a column is called in the address: as it is, unless that is a word of ours.
const keyOf = (column) => (OWN.includes(column) ? `column.${column}` : column);

class View {
  constructor(release, words) {
    this.release = release;
    this.words = words;
    this.reset();
  }

  reset() {
    this.release.use(this.release.sources[0] ?? this.release.source);
    this.table = this.firstTable();
    this.part = {};
    for (const column of this.release.partition) this.part[column] = this.firstCode(column);
    Object.assign(this, {
      vs: null,
      place: null,
      time: null,
      find: "",
      sort: "busiest",
      difference: false,
      by: null,
      page: null,
      theme: null,
      flows: null,
      order: null,
    });
    this.chooseExtras();
  }

  // Place and time together say most; else whatever there is.
  firstTable() {
    const rank = (table) =>
      table.columns.length === 2 && table.has("location") && table.has("time") && !table.wider
        ? 0
        : table.columns.length > 1
          ? 1
          : 2;
    return [...this.release.tables].sort(
      (a, b) => rank(a) - rank(b) || (rank(a) === 0 ? b.times.length - a.times.length : 0),
    )[0];
  }

  // Of days the first; of all else the busiest: a first look should have something to see.
  firstCode(column) {
    return column === this.day || !this.table ? 0 : this.table.busiest(column);
  }

  // The same table of the other numbers, if it has one.
  swapped(source) {
    this.release.use(source);
    return this.release.tables.find((table) => table.name === this.table.name) ?? this.firstTable();
  }

  get day() {
    return this.release.day;
  }
  get other() {
    return this.vs === null ? null : { ...this.part, [this.day]: this.vs };
  }
  // Whether means of several days are shown.
  get several() {
    return this.release.periods.several(this.part) !== null;
  }
  get comparing() {
    return this.vs !== null && this.difference;
  }
  get extras() {
    return this.table ? this.table.chosen.filter((column) => !this.release.partition.includes(column)) : [];
  }

  // A table of more columns than can be drawn is looked at through one value of the others.
  chooseExtras() {
    for (const column of this.extras) {
      const labels = this.table.labels(column);
      if (!(this.part[column] < labels.length)) this.part[column] = this.table.busiest(column);
    }
  }

  get hash() {
    const words = new URLSearchParams();
    if (this.release.source !== (this.release.sources[0] ?? this.release.source))
      words.set("numbers", this.release.source);
    if (this.table) words.set("table", this.table.name);
    for (const [column, code] of Object.entries(this.part)) {
      const shown = this.release.partition.includes(column) || this.extras.includes(column);
      if (shown)
        words.set(
          keyOf(column),
          (column === this.day
            ? this.release.periods.name(code)
            : (this.release.partition.includes(column) ? this.release.labels[column] : this.table.labels(column))[code]) ??
            "",
        );
    }
    if (this.vs !== null) words.set("compare", this.release.periods.name(this.vs));
    if (this.place !== null) words.set("place", this.place);
    if (this.time !== null) words.set("time", this.time);
    if (this.find) words.set("find", this.find);
    if (this.sort !== "busiest") words.set("sort", this.sort);
    if (this.difference) words.set("show", "difference");
    if (this.flows) words.set("flows", this.flows);
    if (this.order) words.set("order", this.order);
    if (this.theme) words.set("theme", this.theme);
    return "#" + words.toString();
  }

  // What a link says, as far as this release has it.
  read(hash) {
    this.reset();
    const words = new URLSearchParams(hash.replace(/^#/, ""));
    if (this.release.sources.includes(words.get("numbers"))) this.table = this.swapped(words.get("numbers"));
    this.table = this.release.tables.find((table) => table.name === words.get("table")) ?? this.table;
    for (const column of this.release.partition) {
      const word = (column === this.day && words.get("days")) || words.get(keyOf(column)) || "\u0000";
      const code =
        column === this.day ? this.release.periods.code(word) : (this.release.labels[column]?.indexOf(word) ?? -1);
      if (code >= 0) this.part[column] = code;
    }
    for (const column of this.extras) {
      const code = this.table.labels(column).indexOf(words.get(keyOf(column)) ?? "\u0000");
      if (code >= 0) this.part[column] = code;
    }
    this.chooseExtras();
    const vs = this.day ? this.release.periods.code(words.get("compare")) : -1;
    this.vs = vs >= 0 ? vs : null;
    const place = words.get("place");
    this.place = place !== null && this.release.tables.some((table) => table.placeCode(place) !== null) ? place : null;
    const time = words.get("time");
    this.time = time !== null && this.release.tables.some((table) => table.times.includes(time)) ? time : null;
    this.find = (words.get("find") ?? "").slice(0, 200);
    this.sort = ["name", "shown", "difference"].includes(words.get("sort")) ? words.get("sort") : "busiest";
    this.flows = FLOWS.find((each) => each === words.get("flows")) ?? null;
    this.order = ORDERS.find((each) => each === words.get("order")) ?? null;
    this.difference = words.get("show") === "difference" && this.vs !== null;
    this.theme = ["light", "dark"].includes(words.get("theme")) ? words.get("theme") : null;
  }

  // The chosen place in a table; null where none is chosen, or the table has other areas.
  placeIn(table) {
    return table.placeCode(this.place);
  }

  // The bin of the chosen time in a table, which may have wider bins than the one it was chosen in.
  timeIn(table) {
    if (this.time === null || !table.times.length) return null;
    return binOf(table, clock(this.time)) || null;
  }
}
