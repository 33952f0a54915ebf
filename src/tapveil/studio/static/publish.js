// Step 2: tables as cards, how fine times and places are, and what would come of it.

class PublishStep {
  id = "publish";
  name = "What to publish";
  title = "What do you want to publish?";
  lead =
    "Every table shares the same promise: the fewer tables, and the coarser their times and places, the more accurate each number.";

  constructor(app) {
    this.app = app;
  }

  needs() {
    const { plan } = this.app.project;
    if (!plan) return { text: "There is no plan yet. Choose the trips first: a plan is then proposed.", step: "data" };
    if (!plan.valid) return null;
    return null;
  }

  status() {
    const { project } = this.app,
      count = project.model?.tables.length;
    if (!project.plan) return { done: false, text: "after Data" };
    if (!project.plan.valid) return { done: false, text: plural(project.plan.problems.length, "mistake"), warn: true };
    return { done: project.state.steps.publish === "done", text: plural(count, "table") };
  }

  async draw() {
    const { project } = this.app;
    if (!project.plan.valid) return el("div", { class: "cards" }, mistakes(this.app));
    const options = await project.known("options");
    project.preview = await this.app.wire.call("preview", { edits: [] }); // of two drawings at once, each has its own
    const parts = [this.detail(options), this.about(), this.view(), ...this.tables(options)];
    if (project.model.places) {
      const map = await this.map();
      if (map) parts.push(map);
    }
    if (options.shapes?.length) parts.push(this.shapes(options.shapes));
    return el("div", { class: "cards" }, parts);
  }

  get held() {
    const { project } = this.app;
    return project.looking && project.preview?.held && !project.preview.recount;
  }

  async edit(edits, said) {
    await this.app.attempt(async () => {
      await this.app.project.edit(edits);
      await this.app.draw();
      this.app.shell.say(said);
    });
    if (this.app.project.looking && this.app.project.preview?.recount) this.app.count();
  }

  // --- how fine -----------------------------------------------------------------------------------------------------------

  detail(options) {
    const { model } = this.app.project;
    const minutes = (n) => (n % 60 ? `${n} min` : n === 60 ? "1 hour" : `${n / 60} hours`);
    return card(
      { title: "How fine", span: true, note: "Coarser is more accurate, and leaves fewer cells out." },
      options.time_minutes?.length && model.time_minutes
        ? choices(
            "bins",
            "Times are rounded to",
            options.time_minutes.map((n) => [n, minutes(n)]),
            model.time_minutes,
            (n) =>
              this.edit([{ at: ["coarsen", "time_minutes"], value: Number(n) }], `Times are rounded to ${minutes(n)}.`),
          )
        : null,
      options.locations?.length > 1
        ? choices(
            "places",
            "Places are",
            options.locations.map((each, i) => [i, each.name]),
            options.locations.findIndex((each) => each.chosen),
            (i) => this.edit(options.locations[i].edits, `${options.locations[i].name}.`),
          )
        : null,
      options.partition?.length
        ? el(
            "fieldset",
            {},
            el("legend", {}, "Counted separately for each"),
            el(
              "div",
              { class: "ticks" },
              options.partition.map((each) =>
                tickbox(`split-${each.column}`, roleTitle(each.column).toLowerCase(), each.chosen, () =>
                  this.edit(each.edits, `Tables are ${each.chosen ? "no longer " : ""}split by ${each.column}.`),
                ),
              ),
            ),
          )
        : null,
      this.noise(options.mechanisms ?? []),
    );
  }

  async calibrated() {
    if (this.app.project.preview?.about) await this.app.draw();
  }

  // How the folder is called, and by whom it is published: readers see it first.
  about() {
    const { model } = this.app.project,
      keys = ["title", "publisher", "licence"];
    const save = (event) => {
      event.preventDefault();
      const edits = keys
        .map((key) => ({ at: ["release", key], value: typedIn(`about-${key}`, model[key] ?? "") || null }))
        .filter(({ at: [, key], value }) => (model[key] || null) !== value);
      if (!edits.length) return;
      this.app.attempt(async () => {
        await this.app.project.edit(edits);
        saved(...keys.map((key) => `about-${key}`));
        await this.app.draw();
        this.app.shell.say("The title page is saved.");
      });
    };
    return card(
      { title: "What readers see first", span: true, id: "cover" },
      el(
        "form",
        { class: "fields", onsubmit: save },
        field("about-title", "Title", { value: model.title ?? "" }),
        field("about-publisher", "Publisher", { value: model.publisher ?? "" }),
        field("about-licence", "Licence", { value: model.licence ?? "", note: "Such as CC-BY-4.0." }),
        spaced(el("button", { type: "submit", id: "about-save" }, "Save")),
      ),
    );
  }

  // Numbers of the trips are shown where somebody asks for them; what is changed from then on is recorded by the server.
  view() {
    const { project } = this.app;
    const toggle = async (on) => {
      project.looking = on;
      if (on && !project.preview?.held) await this.app.count();
      await this.app.draw();
    };
    return card(
      { title: "What would come of it", span: true, id: "looking" },
      choices(
        "looking",
        "Below each table",
        [
          ["", "How accurate it would be", "From the plan alone: no trip is looked at"],
          ["yes", "What would be published of your trips", "CONFIDENTIAL, from exact counts"],
        ],
        project.looking ? "yes" : "",
        (value) => toggle(value === "yes"),
      ),
      project.looking || project.plan.shown || project.model.looked_at_trips
        ? remark(
            project.model.looked_at_trips ? "hint" : "warn",
            project.model.looked_at_trips
              ? "The plan says that it was chosen by looking at the trips (looked_at_trips = true). Readers and the officer are told."
              : "What you change after you saw numbers of your trips depends on them, which no epsilon accounts for. The plan will then say so (looked_at_trips = true), whether or not they are still shown. If you can, choose by what is public or by an earlier period.",
          )
        : null,
      this.app.counting ? progress(this.app.counting) : null,
    );
  }

  // --- tables ---------------------------------------------------------------------------------------------------------------

  tables(options) {
    const { project } = this.app;
    const chosen = options.tables.filter((table) => table.chosen),
      others = options.tables.filter((table) => !table.chosen);
    const known = new Set(options.tables.map((table) => table.name));
    const own = project.model.tables
      .filter((table) => !known.has(table.name))
      .map((table) => ({
        ...table,
        about: table.in_words,
        chosen: true,
        edits: [{ at: ["table", table.name], value: null }],
      }));
    return [
      el(
        "h2",
        { class: "span", id: "tables-title" },
        `${plural(chosen.length + own.length, "table")} would be published`,
      ),
      ...[...chosen, ...own].map((table) => this.table(table)),
      others.length
        ? card(
            { title: "Other tables you could publish", span: true },
            el(
              "div",
              { class: "adds" },
              others
                .filter((table) => table.edits?.length)
                .map((table) =>
                  el(
                    "div",
                    { class: "add" },
                    el("p", {}, table.about),
                    el(
                      "button",
                      {
                        type: "button",
                        id: `add-${table.name}`,
                        class: "quiet",
                        onclick: () => this.edit(table.edits, `Added: ${table.about}.`),
                      },
                      "Add",
                      el("span", { class: "hidden" }, ` ${table.about}`),
                    ),
                  ),
                ),
            ),
          )
        : null,
    ].filter(Boolean);
  }

  table(table) {
    const { project } = this.app,
      found = project.preview?.tables?.find((each) => each.name === table.name),
      held = this.held && found?.cells !== undefined,
      title = capital(table.about ?? project.title(table.name));
    const only = !table.edits?.length;
    const facts = found
      ? [
          found.error !== null && found.error !== undefined
            ? fact(`± ${number(found.error)}`, "19 of 20 counts are within")
            : null,
          found.every_cell
            ? fact("every cell", "is published")
            : found.smallest
              ? fact(number(found.smallest), "smallest count published")
              : null,
          held && !found.every_cell
            ? fact(percent(found.share), "of the trips would be in it")
            : held && found.within10 !== undefined
              ? fact(percent(found.within10), "of the trips are in cells within 10 %")
              : found.within10_from
                ? fact(number(found.within10_from), "trips in a cell, and it is within 10 %")
                : null,
          held && !found.every_cell
            ? fact(`${number(Math.round(found.expected_cells))} of ${number(found.cells)}`, "cells would be published")
            : null,
        ].filter(Boolean)
      : [];
    return card(
      {
        title,
        secret: Boolean(held),
        id: `table-${table.name}`,
        level: "h3",
        tools: only
          ? null
          : el(
              "button",
              {
                type: "button",
                class: "quiet",
                id: `remove-${table.name}`,
                onclick: () => this.edit(table.edits, `Removed: ${title}.`),
              },
              "Remove",
              el("span", { class: "hidden" }, ` ${title}`),
            ),
      },
      held && found.sample?.bars.length
        ? sample({ ...found.sample, column: roleTitle(found.sample.column).toLowerCase() }, title)
        : found
          ? el("div", {}, accuracy(title, found))
          : null,
      held && found.sample?.bars.length
        ? legendOfBars(found)
        : found
          ? el(
              "p",
              { class: "fine" },
              found.every_cell
                ? "True counts of 20, 100 and 500, and what may be published of them."
                : "True counts of 20, 100 and 500, and what may be published of them. Hatched: most likely left out.",
            )
          : null,
      facts.length ? el("dl", { class: "facts" }, facts) : null,
      found?.advice ? remark("warn", titled(found.advice, project.model.tables)) : null,
      table.weight_at ? this.weight(table, project.table(table.name)?.weight, title) : null,
    );
  }

  // A table with twice the weight has half the noise, at the cost of all others.
  weight(table, now, title) {
    const usual = ["1/4", "1/2", "1", "2", "4", "8"],
      weights = usual.some((each) => decimal(each) === decimal(now)) ? usual : [...usual, now];
    const own = `weight-${table.name}`;
    return field(own, "Weight", {
      options: weights.map((each) => [each, decimal(each) === 1 ? "1 (as others)" : each]),
      value: weights.find((each) => decimal(each) === decimal(now)),
      "aria-label": `Weight of ${title}`,
      input: (value) => {
        saved(own);
        this.edit([{ at: table.weight_at, value: plainNumber(value) }], `The weight of ${title} is ${value}.`);
      },
    });
  }

  // How small cells are treated.
  noise(mechanisms) {
    const possible = mechanisms.filter((each) => each.chosen || !each.why_not);
    if (possible.length < 2) return null;
    return choices(
      "mechanism",
      "Noise",
      possible.map(({ name, about }) => [name, capital(name), about]),
      possible.find((each) => each.chosen)?.name,
      (name) => this.edit(possible.find((each) => each.name === name).edits, `The noise is ${name}.`),
    );
  }

  // --- the map, and files in the columns of others -----------------------------------------------------------------------------

  async map() {
    const { project, wire } = this.app;
    const table = project.model.tables.find((each) => each.columns.some((column) => column.endsWith("location")));
    if (!table) return null;
    const found = await wire.call("map", { edits: [], table: table.name });
    if (!found.places.length && !found.areas.length) return null;
    const secret = this.held,
      known = ({ name, lon, lat, rings, ...numbers }) => ({ name, lon, lat, rings, ...(secret ? numbers : {}) });
    const places = found.places.map(known),
      areas = found.areas.map(known);
    return card(
      {
        title: "Where",
        span: true,
        secret,
        note: secret
          ? `${project.title(table.name)}: larger circles and deeper areas have more trips; hatched ones would mostly be left out.`
          : "The places of your public list. The numbers of trips are shown if you ask for them above.",
      },
      el("div", { class: "map" }, placesMap(places, areas)),
      el("details", {}, el("summary", { id: "places-table" }, "The places as a table"), this.placesTable([...places, ...areas])),
    );
  }

  // What the map shows, to be read.
  placesTable(places) {
    const counted = places.some((place) => place.trips !== undefined),
      share = (place) => (place.published === undefined ? "" : percent(place.published));
    const inOrder = [...places].sort((a, b) => (b.trips ?? 0) - (a.trips ?? 0) || a.name.localeCompare(b.name));
    return grid(
      "The places of the map",
      ["Place", "Latitude", "Longitude", ...(counted ? ["Trips", "In counts that would be published"] : [])],
      inOrder.map((place) => [
        place.name,
        place.lat?.toFixed(3) ?? "area",
        place.lon?.toFixed(3) ?? "area",
        ...(counted ? [number(Math.round(place.trips ?? 0)), share(place)] : []),
      ]),
      { numbers: [1, 2, 3, 4] },
    );
  }

  shapes(shapes) {
    const box = (shape) =>
      tickbox(
        `shape-${shape.name}`,
        shape.name,
        shape.chosen,
        () => this.edit(shape.edits, `${shape.name} is ${shape.chosen ? "no longer " : ""}written.`),
        shape.about,
      );
    const suit = shapes.filter((shape) => shape.chosen || !shape.why_not),
      others = shapes.filter((shape) => !suit.includes(shape));
    return card(
      {
        title: "Also in the columns that readers know",
        span: true,
        id: "shapes",
        note: "The same numbers once more, in files as agencies and standards have them. They cost nothing.",
      },
      suit.length
        ? el("div", { class: "ticks wide" }, suit.map(box))
        : el("p", {}, "None suits the tables of this plan."),
      others.length
        ? el(
            "details",
            {},
            el("summary", {}, `${plural(others.length, "other")} would need other tables`),
            el(
              "dl",
              { class: "reasons" },
              others.flatMap((shape) => [
                el("dt", {}, shape.name),
                el("dd", {}, shape.about, " ", el("small", {}, shape.why_not)),
              ]),
            ),
          )
        : null,
    );
  }
}

const swatch = (kind) =>
  el(
    "svg",
    { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true", focusable: "false" },
    el("rect", { class: kind, width: 14, height: 14 }),
  );
const legendOfBars = ({ every_cell: everyCell }) =>
  el(
    "p",
    { class: "legend" },
    el("span", {}, swatch("fill-bar"), everyCell ? "exact trips" : "trips in counts that would be published"),
    everyCell ? null : el("span", {}, swatch("hatched"), "trips in cells that are left out"),
  );

// A plan with mistakes: what they are, where, and the text to fix them in.
function mistakes(app) {
  const { plan } = app.project;
  return card(
    {
      title: `The plan has ${plural(plan.problems.length, "mistake")}`,
      span: true,
      note: "Somebody may have changed it by hand. Nothing can be published until they are gone.",
    },
    ...plan.problems.map((problem) =>
      remark("stop", `${problem.line ? `line ${problem.line}: ` : ""}${problem.message}`),
    ),
    el(
      "div",
      { class: "tools" },
      el(
        "button",
        {
          type: "button",
          onclick: () => {
            app.shell.shown = "edit";
            if (at("drawer").hidden) app.shell.toggle();
            else app.shell.plan();
            at("plan-hand")?.focus();
          },
        },
        "Fix the text of the plan",
      ),
    ),
  );
}
