// Step 3: what is promised to a person, and what it costs in accuracy. The slider answers at once.

class PromiseStep {
  id = "promise";
  name = "Promise";
  title = "What do you promise the people in the data?";
  lead =
    "Noise hides whether somebody is in the data. More noise is a stronger promise; less noise makes better numbers. You decide between them.";

  constructor(app) {
    this.app = app;
    this.wanted = null;
  }

  needs() {
    return this.app.project.plan
      ? null
      : { text: "There is no plan yet. Choose the trips first: a promise is then proposed.", step: "data" };
  }

  status() {
    const { project } = this.app;
    if (!project.plan) return { done: false, text: "after Data" };
    if (!project.model) return { done: false, text: "fix the plan first", warn: true };
    return {
      done: project.state.steps.promise === "done",
      text: project.model.epsilon
        ? `ε ${project.model.epsilon}, ${UNITS[project.model.unit]?.[0].toLowerCase() ?? project.model.unit}`
        : (UNITS[project.model.unit]?.[0] ?? ""),
    };
  }

  // How long the releases of a year are: as this one, if it names its days and nobody says otherwise.
  get period() {
    const { every, model } = this.app.project;
    return every || (model.first_day && model.last_day ? "" : "month");
  }

  read() {
    return this.app.wire.call("promise", { edits: [], every: this.period });
  }

  async draw() {
    const { project } = this.app;
    if (!project.plan.valid) return el("div", { class: "cards" }, mistakes(this.app));
    const options = await project.known("options");
    this.promise = await this.read();
    this.moved = null;
    this.result = el("div", { class: "stack" });
    this.words = el("div", { class: "stack" });
    this.accuracy = el("div", { class: "stack" });
    this.people = el("div", { class: "stack" });
    this.fill(this.promise);
    return el(
      "div",
      { class: "cards" },
      this.unit(options),
      card(
        { title: "How strong", id: "strength", note: "Drag, or use the arrow keys." },
        this.slider(),
        this.result,
        this.words,
      ),
      card({ title: "How accurate", id: "accurate", note: "What the same promise leaves of a count." }, this.accuracy),
      this.days(),
      card(
        {
          title: "For one person, with all their trips",
          span: true,
          id: "people",
          note: "A promise for a trip or a day is weaker for a whole person. In this release, and in a year of releases with the same noise, each of the days after the one before:",
        },
        this.every(),
        this.people,
      ),
      this.need(),
    );
  }

  // --- what is protected ---------------------------------------------------------------------------------------------------

  unit(options) {
    const { project } = this.app,
      possible = options.units.filter((each) => each.chosen || !each.why_not),
      others = options.units.filter((each) => !possible.includes(each));
    const choose = (name) =>
      this.app.attempt(async () => {
        await project.edit(possible.find((each) => each.name === name).edits);
        await this.app.draw();
        this.app.shell.say(`The promise is for: ${UNITS[name][0]}.`);
      });
    return card(
      { title: "Who is hidden", span: true, id: "who" },
      choices(
        "unit",
        "The promise is for",
        possible.map(({ name }) => [name, ...UNITS[name]]),
        project.model.unit,
        choose,
      ),
      others.length
        ? el(
            "details",
            {},
            el(
              "summary",
              {},
              `Not possible with this plan: ${listed(
                others.map(({ name }) => UNITS[name][0].toLowerCase()),
                "or",
              )}`,
            ),
            el(
              "p",
              { class: "note" },
              project.model.columns?.card
                ? others[0].why_not
                : "The files name no card, so trips of one card cannot be known. If a column has the card, name it in the first step.",
            ),
          )
        : null,
    );
  }

  // --- the slider --------------------------------------------------------------------------------------------------------------

  slider() {
    const { model } = this.app.project;
    if (!model.epsilon)
      return remark(
        "hint",
        "This plan gives every table an epsilon of its own. Change them in the text of the plan, or give the plan one total under [privacy]: then there is a slider here.",
      );
    const { grid } = this.promise,
      near = nearest(grid, decimal(model.epsilon));
    const range = el("input", {
      type: "range",
      id: "epsilon",
      min: 0,
      max: grid.length - 1,
      step: 1,
      "aria-label": "Strength of the promise: epsilon",
      "aria-describedby": "strength-note",
      oninput: () => this.move(grid[range.value].epsilon),
      onchange: () => this.settle(grid[range.value].epsilon),
    });
    range.value = near;
    this.range = range;
    this.speak(this.promise);
    return el(
      "div",
      { class: "slide" },
      el("div", { class: "ends" }, el("span", {}, "stronger promise"), el("span", {}, "better numbers")),
      range,
      this.band(grid),
      el(
        "form",
        {
          class: "exact",
          onsubmit: (event) => {
            event.preventDefault();
            this.settle(typedIn("epsilon-exact", model.epsilon));
          },
        },
        el("label", { for: "epsilon-exact" }, "epsilon (ε) ="),
        this.exact(model.epsilon),
        el("button", { type: "submit", class: "quiet" }, "Set"),
      ),
    );
  }

  // Which part of the slider is strong, moderate and weak.
  band(grid) {
    const parts = ["strong", "moderate", "weak"].map((verdict) => [
      verdict,
      grid.filter((each) => each.verdict === verdict).length,
    ]);
    return el(
      "div",
      { class: "band", "aria-hidden": "true" },
      parts
        .filter(([, many]) => many)
        .map(([verdict, many]) => {
          const part = el("span", { class: verdict }, verdict);
          part.style.flexGrow = many;
          return part;
        }),
    );
  }

  exact(value) {
    this.number = el("input", {
      id: "epsilon-exact",
      type: "text",
      inputmode: "decimal",
      autocomplete: "off",
      size: 7,
      oninput: (event) => typed.set("epsilon-exact", event.target.value),
    });
    this.number.value = typed.get("epsilon-exact") ?? value;
    return this.number;
  }

  speak({ epsilon, verdict, of_100: [not, did] }) {
    this.range?.setAttribute("aria-valuetext", `epsilon ${epsilon}: ${VERDICTS[verdict]}, ${not} and ${did} of 100`);
  }

  // While it moves: the dots come from what is known already, the accuracy is asked for. All else waits until it stops.
  async move(epsilon) {
    const known = this.promise.grid.find((each) => each.epsilon === epsilon);
    saved("epsilon-exact");
    this.number.value = epsilon;
    this.speak(known);
    this.frequencies(known);
    for (const part of [this.words, this.accuracy, this.people]) part.classList.add("stale");
    this.moved = { epsilon, about: false };
    if (Number(this.range.value) === nearest(this.promise.grid, decimal(this.app.project.model.epsilon))) {
      this.moved = null; // back where it was: nothing is set, and all of it is known
      this.number.value = this.app.project.model.epsilon;
      this.speak(this.promise);
      this.fill(this.promise);
    } else await this.ask(epsilon);
  }

  async ask(epsilon) {
    const edits = [{ at: ["privacy", "epsilon"], value: plainNumber(epsilon) }];
    const found = await this.app.project
      .askPromise({ edits, moving: true })
      .catch((error) => this.app.shell.trouble(error));
    if (!found || this.moved?.epsilon !== epsilon) return;
    this.moved.about = found.about;
    this.fill(found);
  }

  // The slider is held where the noise was not known: now it is.
  async calibrated() {
    if (this.moved?.about) await this.ask(this.moved.epsilon);
  }

  async settle(epsilon) {
    await this.app.attempt(async () => {
      await this.app.project.edit([{ at: ["privacy", "epsilon"], value: plainNumber(epsilon) }]);
      saved("epsilon-exact");
      await this.app.draw();
      this.app.shell.say(
        `Epsilon ${this.promise.epsilon}: ${VERDICTS[this.promise.verdict]}. ${this.promise.sentence}`,
      );
    });
  }

  // --- what it means ----------------------------------------------------------------------------------------------------------

  fill(promise) {
    this.frequencies(promise);
    redraw(
      this.words,
      el("p", {}, promise.sentence),
      promise.computed ? el("p", { class: "note" }, promise.computed) : null,
      ...(promise.warnings ?? []).map((text) => remark("warn", text)),
    );
    this.accuracies(promise);
    for (const part of [this.words, this.accuracy]) part.classList.remove("stale");
    if (promise.people) this.persons(promise);
  }

  frequencies({ epsilon, verdict, of_100: [not, did] }) {
    const [other, so] = this.promise.headings;
    this.result.replaceChildren(
      el("p", { class: `verdict ${verdict}` }, el("b", {}, capital(VERDICTS[verdict])), ` (ε ${epsilon})`),
      el("div", { class: "frequencies" }, dots(not, `${other}`), dots(did, `${so}`)),
      el("p", { class: "fine" }, "Each dot is a publication. A full one would make a suspicious neighbour believe it."),
    );
  }

  accuracies(promise) {
    const { project } = this.app,
      { tables } = promise;
    this.table ??= tables.find((each) => each.columns.length)?.name;
    const one = tables.find((each) => each.name === this.table) ?? tables[0];
    const choose = (name) => {
      this.table = name;
      saved("accuracy-of");
      this.accuracies(promise);
    };
    redraw(
      this.accuracy,
      field("accuracy-of", "Table", {
        options: tables.map((each) => [each.name, project.title(each.name)]),
        value: one.name,
        input: choose,
      }),
      accuracy(project.title(one.name), one),
      grid(
        "Accuracy of every table",
        ["Table", "19 of 20 within", "Published from", "Within 10 % from"],
        tables.map((each) => [
          project.title(each.name),
          `± ${number(each.error)}`,
          each.smallest ? number(each.smallest) : "every cell",
          each.within10_from ? number(each.within10_from) : "–",
        ]),
        { numbers: [1, 2, 3] },
      ),
      promise.about
        ? el("p", { class: "fine" }, "About right: noise of the nearest ε, scaled. It is computed exactly in a moment.")
        : null,
    );
  }

  persons(promise) {
    this.people.classList.remove("stale");
    const cell = (part) => {
      if (!part) return "–";
      const word = capital(VERDICTS[part.verdict] ?? part.verdict)
        .replace(" promise", "")
        .replace(/^A /, "");
      return part.of_100 && part.verdict !== "none"
        ? el(
            "span",
            { class: `mood ${part.verdict}` },
            el("b", {}, capital(word)),
            ` ${part.of_100[0]} and ${part.of_100[1]} of 100`,
          )
        : el("span", { class: "mood none" }, el("b", {}, "Nothing meaningful"));
    };
    this.people.replaceChildren(
      grid(
        "What is promised to one person with all their trips",
        ["Somebody with", "This release", `A year of ${plural(promise.people[0].year.releases, "release")}`],
        promise.people.map((person) => [
          `${plural(person.trips_a_week, "trip")} a week`,
          cell(person.release),
          cell(person.year),
        ]),
      ),
    );
  }

  every() {
    const { project } = this.app;
    return choices(
      "every",
      "Releases of a year cover",
      [
        ...(project.model.first_day && project.model.last_day ? [["", "as many days as this one"]] : []),
        ["week", "a week"],
        ["month", "a month"],
        ["quarter", "a quarter"],
        ["year", "the year"],
      ],
      this.period,
      async (every) => {
        project.every = every;
        await this.app.attempt(async () => {
          this.promise = await this.read();
          this.fill(this.promise);
          this.app.shell.say(`A year of ${plural(this.promise.people[0].year.releases, "release")}.`);
        });
      },
    );
  }

  // --- which days ---------------------------------------------------------------------------------------------------------------

  days() {
    const { project } = this.app,
      { model } = project;
    const save = (event) => {
      event.preventDefault();
      const first = typedIn("first-day", model.first_day ?? ""),
        last = typedIn("last-day", model.last_day ?? "");
      this.app.attempt(async () => {
        if (first && last && last < first)
          throw new Failure(0, {
            kind: "UsageError",
            message: `The last day, ${last}, is before the first, ${first}. Change one of them.`,
          });
        await project.edit([
          { at: ["source", "first_day"], value: first || null },
          { at: ["source", "last_day"], value: last || null },
        ]);
        saved("first-day", "last-day");
        await this.app.draw();
        this.app.shell.say("The days are saved.");
      });
    };
    if (model.can_name_days === false) return null;
    return card(
      {
        title: "Which days",
        span: true,
        note: "Releases of other days do not add up with this one (unless whole cards are hidden). So name the days, and a year costs no more than its most expensive period.",
      },
      el(
        "form",
        { class: "fields", onsubmit: save },
        field("first-day", "First day", { type: "date", value: model.first_day ?? "" }),
        field("last-day", "Last day", { type: "date", value: model.last_day ?? "" }),
        spaced(el("button", { type: "submit" }, "Save the days")),
      ),
      model.first_day
        ? null
        : remark("warn", "The plan names no days: it counts for all of them, and every later release adds up with it."),
    );
  }

  // --- say the accuracy, get the epsilon --------------------------------------------------------------------------------------

  need() {
    const { project, wire } = this.app;
    const ask = (event) => {
      event.preventDefault();
      const table = typedIn("need-table", project.model.tables[0].name),
        within = typedIn("need-within", "10"),
        least = typedIn("need-least", "200");
      this.app.attempt(async () => {
        this.wanted = await wire.work("need", {
          need: `${table} within ${within} % where at least ${least}`,
          edits: [],
        });
        await this.app.draw();
        at("need-answer")?.focus();
        this.app.shell.say(this.wanted.sentence);
      }, "need-ask");
    };
    const found = this.wanted;
    return card(
      {
        title: "Or say how accurate it must be",
        span: true,
        id: "need",
        note: "You get the strongest promise at which it is. It follows from the plan: no trip is read.",
      },
      el(
        "form",
        { class: "fields need", onsubmit: ask },
        field("need-table", "In the table", {
          options: project.model.tables.map((table) => [table.name, project.title(table.name)]),
          value: project.model.tables[0].name,
        }),
        field("need-least", "cells with at least this many trips", { value: "200", inputmode: "numeric" }),
        field("need-within", "are within this many percent", { value: "10", inputmode: "numeric" }),
        spaced(el("button", { type: "submit", id: "need-ask" }, "Which epsilon?")),
      ),
      found
        ? el(
            "div",
            { class: "remark ask", id: "need-answer", tabindex: -1 },
            el(
              "p",
              {},
              el("b", {}, found.epsilon ? `ε = ${found.epsilon}` : "No epsilon is enough"),
              ". ",
              found.sentence,
            ),
            found.promise ? el("p", {}, `That is ${VERDICTS[found.promise.verdict] ?? found.promise.verdict}.`) : null,
            found.epsilon
              ? el(
                  "button",
                  {
                    type: "button",
                    id: "need-use",
                    onclick: () =>
                      this.app.attempt(async () => {
                        await project.edit(found.edits);
                        this.wanted = null;
                        saved("epsilon-exact");
                        await this.app.draw();
                        this.app.shell.say(`The plan has epsilon ${found.epsilon}.`);
                      }),
                  },
                  "Use this epsilon",
                )
              : null,
          )
        : null,
    );
  }
}

// Of the values of the slider, the one that is nearest by its factor.
const nearest = (grid, value) =>
  grid.reduce((best, each, i) => {
    const off = (other) => Math.abs(Math.log(decimal(other.epsilon) / value));
    return off(each) < off(grid[best]) ? i : best;
  }, 0);

// A number as a plan has it: 1, 0.5 or "1/3".
const decimal = (text) => {
  const [over, under = "1"] = String(text).split("/");
  return Number(over) / Number(under);
};
const plainNumber = (text) => (/^\d*\.?\d+$/.test(String(text)) ? Number(text) : String(text));
