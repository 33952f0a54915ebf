// The project as the server has it: its plan, its ledger, what was looked at. Changes are written at once, and are small.

class Project {
  constructor(wire) {
    this.wire = wire;
    this.listeners = [];
    this.taken = 0;
    this.forgotten = 0;
    this.forget();
    // What is looked at on the first step, before there is a plan.
    this.chosen = { trips: null, gtfs: null, places: null, look: "columns", answers: {} };
    this.looked = null;
    // Whether numbers of the trips are shown where things are decided.
    this.looking = false;
    this.every = "";
    this.askPromise = latest((signal, body) => wire.call("promise", body, signal));
  }

  forget() {
    this.options = null;
    this.counted = this.counted ?? null;
    this.forgetLedger();
    this.checked = null;
    this.preview = null;
  }

  forgetLedger() {
    this.forgotten += 1;
    this.ledger = null;
  }

  // What is asked for once, as the ledger; where something changed meanwhile, it is asked for again.
  async known(name) {
    while (!this[name]) {
      const { forgotten } = this,
        found = await this.wire.call(name);
      if (forgotten === this.forgotten) this[name] = found;
    }
    return this[name];
  }

  get model() {
    return this.plan?.model ?? null;
  }

  // A plan that was taken while this was under way, as after an edit, may be newer than the answer: it is asked again.
  async read() {
    const { taken } = this,
      state = await this.wire.call("project"),
      plan = state.plan ? await this.wire.call("plan") : null;
    if (taken !== this.taken) return this.read();
    this.state = state;
    this.take(plan);
  }

  // A plan as it is now; what followed from the one before is forgotten.
  take(plan) {
    this.taken += 1;
    if (plan && this.plan && plan.text !== this.plan.text) this.before = this.plan.text;
    if (plan?.version !== this.plan?.version) {
      this.forget();
      this.noted = Boolean(plan?.noted);
    }
    this.plan = plan;
    for (const listener of this.listeners) listener();
  }

  // Changes of the plan, written. Where numbers of the trips were shown, the server lets the plan say so.
  async edit(edits) {
    this.take(await this.wire.call("plan/edit", { version: this.plan.version, edits, write: true }));
    this.state = await this.wire.call("project");
    return this.plan;
  }

  async text(text) {
    this.take(await this.wire.call("plan/text", { version: this.plan.version, text }));
    this.state = await this.wire.call("project");
  }

  table(name) {
    return this.model?.tables.find((table) => table.name === name);
  }

  title(name) {
    const table = this.table(name);
    return table ? columnsTitle(table.columns, table.level) : capital(name.replaceAll("_", " "));
  }
}

// How a column of ours is called by people.
const ROLES = {
  card: "Card",
  mode: "Mode",
  date: "Day",
  tap: "On or off",
  tap_time: "Time of the tap",
  tap_location: "Place of the tap",
  tap_on_time: "Time of start",
  tap_on_location: "Place of start",
  tap_off_time: "Time of end",
  tap_off_location: "Place of end",
  count: "Number of trips",
  vehicle: "Vehicle",
};
// What a table counts by, in a few words.
function columnsTitle(columns, level = "") {
  if (!columns.length) return "All trips";
  const words = columns.map((column, i) => (i ? roleTitle(column).toLowerCase() : roleTitle(column)));
  return `${words.join(" × ")}${level ? ` (${level})` : ""}`;
}
// A sentence of a command about tables, with what they are called here.
function titled(text, tables) {
  const titles = new Map();
  for (const { name, columns, level } of tables) {
    const title = `“${columnsTitle(columns, level)}”`;
    if (columns.length) titles.set(columns.join(" × "), title);
    if (name.includes("_")) titles.set(name, title);
  }
  return text.replace(/\w+(?: × \w+)*/g, (found) => titles.get(found) ?? found);
}
const roleTitle = (role) => ROLES[role] ?? capital(role.replaceAll("_", " "));
// What the ledger says to a release of the plan: its weight, and a sentence.
function roomIn({ next, refused, repeats, missing }) {
  if (refused && repeats)
    return ["warn", `These days were released before, and no second release of them has room. ${sentence(refused)}`];
  if (missing || refused) return ["stop", sentence(missing || refused)];
  if (next === "start-ledger") return ["warn", "There is no ledger yet. Declare the budget in the step before."];
  if (repeats || next === "again")
    return ["warn", "The ledger has room for it. But some of these days were released before: both releases add up."];
  return ["good", "The ledger has room for a release of this plan."];
}
const VERDICTS = {
  strong: "a strong promise",
  moderate: "a moderate promise",
  weak: "a weak promise",
  none: "no meaningful promise",
};
const UNITS = {
  trip: ["One trip", "Each single trip is hidden. Somebody who travels often is hidden less."],
  "card-day": ["A card’s day", "All trips of a card on one day are hidden together."],
  card: ["A card", "All trips of a card are hidden together. The strongest, and the noisiest."],
};
