// Step 1: the files, and what was understood of them. Nothing is written until every question has an answer.

class DataStep {
  id = "data";
  name = "Data";
  title = "Which trips do you have?";
  lead = "Choose the export as your system wrote it. tapveil looks at how it is written, and asks what it cannot know.";

  constructor(app) {
    this.app = app;
    this.files = new Files(this);
    this.questions = new Questions(this);
    this.job = null;
  }

  status() {
    const { plan, looked } = this.app.project;
    if (plan) return { done: true, text: plan.model?.trips.join(", ") ?? plan.plan };
    return {
      done: false,
      text: looked ? (this.open().length ? plural(this.open().length, "open question") : "ready") : "choose files",
      warn: looked && this.open().length > 0,
    };
  }

  nextTitle() {
    return this.app.project.plan && !this.app.project.looked ? "What to publish →" : "Write the plan →";
  }

  why() {
    const { plan, looked } = this.app.project;
    if (!looked && !plan) return "Choose a file first.";
    return looked && this.open().length
      ? `${plural(this.open().length, "question")} open: answer above, or take what is proposed.`
      : "";
  }

  open() {
    const { looked, chosen } = this.app.project;
    return (looked?.questions ?? []).filter((question) => !(question.key in chosen.answers));
  }

  // The plan is written when the step is left.
  async leave() {
    const { project, wire } = this.app;
    if (!project.looked) {
      if (project.plan) return;
      throw new Failure(0, {
        kind: "UsageError",
        message: "No trips are chosen yet. Choose or drop a file, then go on.",
      });
    }
    if (this.open().length) {
      at(`question-${this.open()[0].key}`)?.scrollIntoView({ block: "center" });
      at(`question-${this.open()[0].key}`)?.querySelector("input, select, textarea")?.focus();
      throw new Failure(0, {
        kind: "UsageError",
        message: `${plural(this.open().length, "question")} without an answer: ${listed(this.open().map(({ key }) => capital(key.replaceAll("_", " ").replaceAll(".", ", "))))}. Answer them below, or take what is proposed.`,
      });
    }
    project.take(
      await wire.call("look/write", { ...project.chosen, plan: "plan.toml", replace: Boolean(project.plan) }),
    );
    project.state = await wire.call("project");
    project.sourceColumns = project.looked.columns.map((column) => column.name);
    project.looked = null;
    project.counted = null;
    this.app.shell.say("The plan is written.");
  }

  // --- drawing ---------------------------------------------------------------------------------------------------------

  async draw() {
    const { project } = this.app;
    await this.files.read();
    const parts = [];
    if (project.plan && !project.looked) parts.push(this.written());
    parts.push(this.files.draw());
    if (this.job) parts.push(card({ title: "Looking at the files", span: true }, progress(this.job)));
    if (project.looked) parts.push(...this.understood(project.looked));
    if (project.model && !project.looked) parts.push(this.roles(project.model));
    if (project.plan && !project.looked) parts.push(this.rows());
    return el("div", { class: "cards" }, parts);
  }

  written() {
    const { plan, model } = this.app.project;
    return card(
      {
        title: `There is a plan: ${plan.plan}`,
        span: true,
        note: "Go on with it, or choose other files below to begin anew; the plan of now is then kept under another name.",
      },
      model
        ? el(
            "dl",
            { class: "facts" },
            fact(model.trips.join(", "), "trips are read from"),
            fact(model.first_day ? `${dayTitle(model.first_day)} to ${dayTitle(model.last_day)}` : "all days", "days"),
            fact(plural(model.tables.length, "table"), "are published"),
          )
        : el(
            "div",
            { class: "stack" },
            plan.problems.map((problem) =>
              remark("stop", `${problem.line ? `line ${problem.line}: ` : ""}${problem.message}`),
            ),
          ),
      this.otherPlans(),
    );
  }

  // Looks again, with what was chosen and answered so far.
  async look(changes) {
    const { project, wire, shell } = this.app;
    Object.assign(project.chosen, changes);
    if (!project.chosen.trips) return this.app.draw();
    this.job = { stage: "Looking at the columns", detail: project.chosen.trips, share: null };
    if (!project.looked) await this.app.draw();
    await this.app.attempt(async () => {
      project.looked = await wire.work("look", project.chosen, (job) => (this.job = job));
      const open = this.open().length;
      shell.say(
        `${project.looked.columns.filter((column) => column.role).length} columns are recognised. ${open ? `${plural(open, "question")} to answer.` : "No open question."}`,
      );
    });
    this.job = null;
    return this.app.draw();
  }

  // --- what was understood ---------------------------------------------------------------------------------------------

  understood(looked) {
    const used = looked.columns.filter((column) => column.role),
      others = looked.columns.filter((column) => !column.role);
    const parts = [
      card(
        { title: "What was understood", span: true, id: "understood" },
        el(
          "p",
          { class: "big" },
          spoken(
            `${looked.like ? `It looks like ${looked.like.replace(/^It looks like /, "").replace(/\.$/, "")}. ` : ""}${ROWS[looked.shape] ?? ""}${looked.why}.`,
          ),
        ),
        looked.sentences?.length
          ? el(
              "ul",
              { class: "plain" },
              looked.sentences.map((text) => el("li", {}, spoken(text))),
            )
          : null,
        ...(looked.remarks ?? []).map((text) => remark("hint", text)),
      ),
    ];
    if (looked.questions.length) parts.push(this.questions.draw(looked.questions));
    parts.push(
      card(
        {
          title: `${plural(used.length, "column")} will be read`,
          span: true,
          secret: true,
          id: "columns",
          note: "Drawn from some rows. Check that each column is what it is taken for.",
        },
        el(
          "ul",
          { class: "columns" },
          used.map((column) => this.column(column)),
        ),
        others.length
          ? el(
              "details",
              {},
              el(
                "summary",
                {},
                `${plural(others.length, "column")} will never be read again: ${listed(others.slice(0, 4).map((column) => column.name))}${others.length > 4 ? " …" : ""}`,
              ),
              el(
                "ul",
                { class: "columns" },
                others.map((column) => this.column(column)),
              ),
            )
          : null,
      ),
    );
    if (looked.prospect)
      parts.push(
        card(
          { title: "What to expect", span: true, secret: true, id: "expect" },
          el("p", {}, spoken(titled(looked.prospect, looked.tables))),
          this.coarser(),
        ),
      );
    return parts;
  }

  // The plan by counting the trips: coarser where there are few, and it says so.
  coarser() {
    const counted = this.app.project.chosen.look === "trips";
    return el(
      "div",
      { class: "stack" },
      tickbox(
        "count-first",
        "Count the trips, and propose bins and tables that suit their number",
        counted,
        (on) => this.look({ look: on ? "trips" : this.files.unread ? "nothing" : "columns" }),
        "The plan then depends on the trips in a way that no epsilon accounts for, and says so to everybody.",
      ),
    );
  }

  column(column) {
    const sure = { sure: "sure", likely: "likely", question: "asked below" }[column.sureness] ?? "";
    return el(
      "li",
      { class: "column" },
      el(
        "div",
        { class: "column-head" },
        el("h3", {}, bidi(column.name)),
        column.role
          ? el(
              "span",
              { class: `role ${column.sureness}` },
              (column.roles ?? [column.role]).map(roleTitle).join(", "),
              sure ? el("small", {}, sure) : null,
            )
          : null,
      ),
      distribution(column.name, column.distribution),
      column.why || column.format
        ? el(
            "p",
            { class: "fine" },
            spoken(
              [column.why && capital(column.why), column.format && `Written as ${column.format}`]
                .filter(Boolean)
                .join(". "),
            ),
          )
        : null,
    );
  }

  // A folder may have several plans: one of them is worked on.
  otherPlans() {
    const { project, wire } = this.app,
      { plans } = project.state;
    if ((plans?.length ?? 0) < 2) return null;
    const use = (name) =>
      this.app.attempt(async () => {
        saved("which-plan");
        project.take(await wire.call("plan/use", { plan: name }));
        project.state = await wire.call("project");
        project.counted = null;
        await this.app.draw();
        this.app.shell.say(`The plan is ${name} now.`);
      });
    return field("which-plan", "Work on", {
      options: plans.map((name) => [name, name]),
      value: project.plan.plan,
      input: use,
    });
  }

  // --- which column is what ---------------------------------------------------------------------------------------------

  roles(model) {
    const known = this.app.project.sourceColumns ?? [...new Set(Object.values(model.columns))],
      usual = model.shape === "taps" ? TAPS : model.shape === "counts" ? [...TRIPS, "count"] : TRIPS,
      roles = [...new Set([...Object.keys(model.columns), ...usual])];
    const save = (event) => {
      event.preventDefault();
      const edits = roles
        .map((role) => ({
          at: ["source", "columns", role],
          value: typedIn(`role-${role}`, model.columns[role] ?? "") || null,
        }))
        .filter(({ at: [, , role], value }) => value !== (model.columns[role] ?? null));
      this.app.attempt(async () => {
        if (edits.length) await this.app.project.edit(edits);
        saved(...roles.map((role) => `role-${role}`));
        await this.app.draw();
        this.app.shell.say("The columns are saved.");
      }, "roles-save");
    };
    return card(
      { title: "Which column is what", span: true, id: "roles" },
      el(
        "details",
        {},
        el("summary", { id: "roles-open" }, "Name a column that was not recognised, or another one"),
        el(
          "form",
          { class: "fields", onsubmit: save },
          roles.map((role) =>
            field(`role-${role}`, roleTitle(role), {
              options: [["", "not in the files"], ...new Set([...known, model.columns[role]].filter(Boolean))].map(
                (each) => (Array.isArray(each) ? each : [each, each]),
              ),
              value: model.columns[role] ?? "",
            }),
          ),
          spaced(el("button", { type: "submit", id: "roles-save" }, "Save the columns")),
        ),
      ),
    );
  }

  // --- rows that are refused ---------------------------------------------------------------------------------------------

  rows() {
    const { project } = this.app;
    return project.counted
      ? countedCard(project.counted)
      : card(
          {
            title: "Rows that cannot be read",
            span: true,
            note: "Count the trips once, to see which rows are refused and why. Nothing of it is written anywhere; but if tables, bins, areas or bounds are changed afterwards, the plan will say that trips were looked at.",
            id: "rows",
          },
          countButton(this.app),
        );
  }
}

const TRIPS = ["card", "mode", "date", "tap_on_time", "tap_on_location", "tap_off_time", "tap_off_location"];
const TAPS = ["card", "mode", "date", "tap", "tap_time", "tap_location", "vehicle"];
const ROWS = { trips: "A row is a trip: ", taps: "A row is a tap: ", counts: "A row is a number of trips: " };
const fact = (value, title) => el("div", {}, el("dt", {}, title), el("dd", {}, value));

// Counting goes on while other things are done; its progress is where its button was.
function countButton(app, title = "Count the trips") {
  if (app.counting) return progress(app.counting);
  return el(
    "div",
    { class: "tools" },
    el("button", { type: "button", id: "count", onclick: () => app.count() }, title),
  );
}

function countedCard(counted) {
  const { rows, refused, elsewhere, left_out: leftOut, stops } = counted;
  const total = refused.reduce((sum, each) => sum + each.rows, 0);
  return card(
    {
      title: total
        ? `${plural(total, "row")} of ${number(rows)} cannot be read`
        : `All ${number(rows)} rows can be read`,
      span: true,
      secret: true,
      id: "rows",
    },
    stops ? remark("stop", stops) : null,
    refusedTable(refused),
    elsewhere || leftOut
      ? el(
          "p",
          { class: "note" },
          [
            elsewhere ? `${plural(elsewhere, "row")} of other days or modes than the plan’s.` : "",
            leftOut ? `${plural(leftOut, "trip")} beyond what the plan counts of one card.` : "",
          ]
            .filter(Boolean)
            .join(" "),
        )
      : null,
  );
}

// Rows that are refused: why, how many, and where the first of them are.
function refusedTable(refused) {
  if (!refused.length) return null;
  return grid(
    "Rows that are refused",
    ["Why", "Rows", "The first of them"],
    refused.map((each) => [
      sentence(each.reason.replace(/\w+_\w+/g, (column) => (column in ROLES ? roleTitle(column) : column))),
      number(each.rows),
      each.at.map(([file, line]) => `${file}, line ${number(line)}`).join("; "),
    ]),
    { numbers: [1] },
  );
}
