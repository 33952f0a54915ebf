// Step 4: all that may ever be spent, what was spent, and what a year of releases may spend.

class BudgetStep {
  id = "budget";
  name = "Budget";
  title = "What may be spent in all?";
  lead =
    "Each release of the same trips weakens the promise a little. The ledger records what was spent, for ever, and refuses what would be too much.";

  constructor(app) {
    this.app = app;
    this.planned = null;
  }

  needs() {
    return this.app.project.plan ? null : { text: "There is no plan yet. Choose the trips first.", step: "data" };
  }

  status() {
    const { project } = this.app;
    if (!project.plan) return { done: false, text: "after Data" };
    const exists = project.state.ledger?.exists;
    return {
      done: project.state.steps.budget === "done",
      text: exists ? "a ledger is kept" : "no ledger yet",
      warn: !exists,
    };
  }

  why() {
    return this.app.project.state?.ledger?.exists
      ? ""
      : "Declare a budget first: a release without a ledger is refused.";
  }

  async draw() {
    const { project } = this.app;
    if (!project.plan.valid) return el("div", { class: "cards" }, mistakes(this.app));
    const ledger = await project.known("ledger");
    return el(
      "div",
      { class: "cards" },
      ledger.exists ? this.accounts(ledger) : this.begin(ledger),
      ledger.exists ? this.line(ledger) : null,
      this.planner(),
      ledger.exists ? this.entries(ledger) : null,
    );
  }

  // --- the first budget -------------------------------------------------------------------------------------------------

  begin(ledger) {
    const { model } = this.app.project;
    const save = (event) => {
      event.preventDefault();
      this.app.attempt(async () => {
        const epsilon = typedIn("budget-epsilon", model.epsilon ?? ""),
          delta = typedIn("budget-delta", model.delta ?? "");
        const approval = typedIn("budget-approval") || null;
        this.app.project.ledger = await this.app.wire.call("ledger/start", { epsilon, delta, approval });
        saved("budget-epsilon", "budget-delta", "budget-approval");
        await this.after("The ledger is started.");
      }, "ledger-start");
    };
    return card(
      {
        title: "Declare the budget",
        span: true,
        id: "begin",
        note: "Once, before the first release: the most that may ever be spent on these trips. It can be changed later, but everybody sees that it was, and why.",
      },
      ledger.missing ? el("p", {}, ledger.missing) : null,
      ...(ledger.findings ?? []).map((text) => remark("warn", text)),
      el(
        "form",
        { class: "fields", onsubmit: save },
        field("budget-epsilon", "Epsilon in total", {
          value: model.epsilon ?? "",
          inputmode: "decimal",
          note: "As much as this release spends is enough, as long as every later one is of other days.",
        }),
        field("budget-delta", "Delta in total", {
          value: model.delta ?? "",
          note: "The chance, roughly, that one lonely trip is shown. Keep it far below one divided by the number of trips.",
        }),
        this.app.project.state.approval
          ? field("budget-approval", "Require a second person (optional)", {
              note: "Where the public key of the privacy officer is, such as officer.pub. Then every release needs their signature.",
            })
          : null,
        spaced(el("button", { type: "submit", class: "primary", id: "ledger-start" }, "Start the ledger")),
      ),
    );
  }

  async after(said) {
    this.app.project.state = await this.app.wire.call("project");
    await this.app.draw();
    this.app.shell.say(said);
  }

  // --- what was spent ------------------------------------------------------------------------------------------------------

  accounts(ledger) {
    const { model } = this.app.project;
    return card(
      { title: "What is spent, and what is left", span: true, id: "accounts" },
      ledger.intact === false
        ? remark("stop", `The ledger is not intact: ${(ledger.findings ?? []).join(" ")}`)
        : (ledger.findings ?? []).map((text) => remark("warn", text)),
      ledger.accounts.map((account) => this.account(account)),
      remark(...roomIn(ledger)),
      el(
        "details",
        {},
        el("summary", {}, "Change the budget"),
        el(
          "form",
          {
            class: "fields",
            onsubmit: (event) => {
              event.preventDefault();
              this.app.attempt(async () => {
                const asked = {
                  epsilon: typedIn("raise-epsilon", ledger.accounts[0]?.budget.epsilon ?? ""),
                  delta: typedIn("raise-delta", ledger.accounts[0]?.budget.delta ?? ""),
                  reason: typedIn("raise-reason") || null,
                  by: typedIn("raise-by") || null,
                };
                this.app.project.ledger = await this.app.wire.call("ledger/budget", asked);
                saved("raise-epsilon", "raise-delta", "raise-reason", "raise-by");
                await this.after("The budget is changed.");
              }, "budget-change");
            },
          },
          field("raise-epsilon", "Epsilon in total", {
            value: ledger.accounts[0]?.budget.epsilon ?? model.epsilon ?? "",
          }),
          field("raise-delta", "Delta in total", { value: ledger.accounts[0]?.budget.delta ?? model.delta ?? "" }),
          field("raise-reason", "Why", {
            note: "A budget that allows more needs a reason and a name. Both are kept for ever.",
          }),
          field("raise-by", "Who decided it"),
          spaced(el("button", { type: "submit", id: "budget-change" }, "Change the budget")),
        ),
      ),
    );
  }

  account(account) {
    const whole = decimal(account.budget.epsilon),
      spent = decimal(account.spent ?? 0),
      share = Math.min(1, spent / whole);
    const bar = el("div", {});
    bar.style.width = `${Math.round(100 * share)}%`;
    return el(
      "div",
      { class: "account stack" },
      el(
        "dl",
        { class: "facts" },
        fact(`ε ${account.budget.epsilon}`, "budget in total"),
        fact(`ε ${account.spent ?? 0}`, "spent where most was"),
        fact(account.left === null || account.left === undefined ? "–" : `ε ${account.left}`, "left there"),
        fact(number(account.releases), account.releases === 1 ? "release" : "releases"),
      ),
      el(
        "div",
        { class: "meter", role: "img", "aria-label": `${percent(share)} of the budget is spent where most was.` },
        bar,
      ),
      el(
        "p",
        { class: "fine" },
        `${account.meaning ? `${account.meaning} ` : ""}Data set “${account.data_set}”, ${(UNITS[account.unit]?.[0] ?? account.unit).toLowerCase()}, delta ${account.budget.delta}.`,
      ),
    );
  }

  // Releases on the line of their days; this plan is drawn with them, dashed.
  line(ledger) {
    const { model } = this.app.project;
    const made = ledger.entries
      .filter((entry) => entry.kind === "release")
      .map((entry) => ({ ...entry, title: entry.what }));
    const shown = [
      ...made.slice(-11),
      {
        first_day: model.first_day,
        last_day: model.last_day,
        epsilon: model.epsilon,
        title: "this plan",
        planned: true,
      },
    ];
    return card(
      {
        title: "Which days were released",
        span: true,
        id: "line",
        note: "Only releases that have days in common add up, unless whole cards are hidden. Dashed: this plan, not released.",
      },
      timeline(
        shown,
        `${plural(made.length, "release")} so far${
          made.length
            ? `: ${made
                .slice(-11)
                .map((each) => `${days(each)}${each.epsilon ? `, epsilon ${each.epsilon}` : ""}`)
                .join("; ")}`
            : ""
        }. This plan: ${days(model)}.`,
      ),
      made.length > 11 ? el("p", { class: "fine" }, `The last 11 of ${number(made.length)} releases.`) : null,
    );
  }

  entries(ledger) {
    return card(
      { title: "Everything on record", span: true },
      el(
        "details",
        {},
        el("summary", {}, `${plural(ledger.entries.length, "entry", "entries")} in ${ledger.path}`),
        grid(
          "Entries of the ledger",
          ["Day", "What"],
          ledger.entries.map((entry) => [dayTitle(entry.on), entry.what + (entry.status ? ` (${entry.status})` : "")]),
        ),
      ),
    );
  }

  // --- the planner ------------------------------------------------------------------------------------------------------------

  planner() {
    const { project, wire } = this.app,
      { model, ledger } = project,
      budget = ledger.accounts?.[0]?.budget ?? { epsilon: model.epsilon, delta: model.delta };
    const often = { week: 52, month: 12, quarter: 4 },
      every = project.every in often ? project.every : "month";
    const asked = () => ({
      epsilon: typedIn("year-epsilon", budget.epsilon ?? ""),
      delta: typedIn("year-delta", budget.delta ?? ""),
      every: typedIn("year-every", every),
      number: Number(typedIn("year-number", often[every])),
    });
    const ask = (event) => {
      event.preventDefault();
      this.app.attempt(async () => {
        this.asked = asked();
        this.planned = await wire.work("ledger/plan", { ...this.asked, held: false });
        await this.app.draw();
        at("planned")?.focus();
        this.app.shell.say(this.planned.sentence);
      }, "year-ask");
    };
    return card(
      {
        title: "Plan a year",
        span: true,
        id: "planner",
        note: "What each of many releases may spend, so that all of them together keep the budget. Computed from the plan: no trip is read.",
      },
      el(
        "form",
        { class: "fields", onsubmit: ask },
        field("year-every", "A release every", {
          options: Object.keys(often).map((each) => [each, each]),
          value: every,
        }),
        field("year-number", "How many", { value: String(often[every]), inputmode: "numeric" }),
        field("year-epsilon", "Epsilon for all of them", { value: budget.epsilon ?? "" }),
        field("year-delta", "Delta for all of them", { value: budget.delta ?? "" }),
        spaced(el("button", { type: "submit", id: "year-ask" }, "What may each spend?")),
      ),
      this.planned ? this.plannedCard() : null,
    );
  }

  plannedCard() {
    const { project, wire } = this.app,
      found = this.planned;
    const use = (keep) => () =>
      this.app.attempt(async () => {
        if (found.edits?.length) await project.edit(found.edits);
        if (keep) project.ledger = await wire.call("ledger/keep", this.asked);
        this.planned = null;
        saved("year-every", "year-number", "year-epsilon", "year-delta");
        await this.after(
          keep ? "The plan is changed, and the schedule is in the ledger." : "The plan has this epsilon now.",
        );
      });
    const names = [...new Set(found.rows.map((row) => row.table).filter(Boolean))];
    this.table = names.includes(this.table) ? this.table : names.at(0);
    const rows = found.rows.filter((row) => row.table === this.table || !row.table),
      ease = (row) => 1 / Math.max(1, row.trips_a_week ?? row.error),
      best = Math.max(...rows.filter((row) => row.table).map(ease));
    const choose = (name) => {
      this.table = name;
      saved("planned-table");
      this.app.draw();
    };
    return el(
      "div",
      { class: "stack", id: "planned", tabindex: -1 },
      el("p", { class: "big" }, el("b", {}, `ε ${found.epsilon} for each. `), found.sentence),
      el("h3", {}, "Next to other ways"),
      field("planned-table", "Table", {
        options: names.map((name) => [name, project.title(name)]),
        value: this.table,
        input: choose,
      }),
      grid(
        "The planner: this way and others",
        ["A release every", "Releases", "Epsilon of each", "19 of 20 within", "Within 10 % from", "Trips a week"],
        rows.map((row) =>
          row.table
            ? [
                el(
                  "span",
                  {},
                  capital(row.every),
                  row.every === this.asked?.every ? el("small", { class: "chip" }, "asked") : null,
                ),
                number(row.number),
                row.epsilon,
                `± ${number(row.error)}`,
                number(row.within10_from),
                el("span", { class: "inline" }, spark(ease(row) / best), number(row.trips_a_week)),
              ]
            : [capital(row.every), number(row.number), row.why_not, "", "", ""],
        ),
        { numbers: [1, 2, 3, 4, 5] },
      ),
      el(
        "p",
        { class: "fine" },
        "Trips a week: how many there must be in one cell for its count to be within 10 %. Fewer is better: the bar is longer.",
      ),
      el(
        "div",
        { class: "tools" },
        el("button", { type: "button", id: "planned-use", onclick: use(false) }, `Use ε ${found.epsilon}`),
        project.state.ledger?.exists
          ? el(
              "button",
              { type: "button", id: "planned-keep", onclick: use(true) },
              "Use it, and keep the schedule in the ledger",
            )
          : null,
      ),
    );
  }
}

const days = ({ first_day: first, last_day: last }) => (first ? `${first} to ${last ?? "the last"}` : "all days");

function spark(share) {
  return el(
    "svg",
    { width: 60, height: 10, viewBox: "0 0 60 10", "aria-hidden": "true", focusable: "false" },
    el("rect", { class: "fill-soft", width: Math.max(2, 60 * share), height: 10, rx: 2 }),
  );
}
