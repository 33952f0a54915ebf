// Step 5: everything that is known before anything is spent; the dossier; and the second person.

class CheckStep {
  id = "check";
  name = "Check";
  title = "Is it right, and who agrees?";
  lead =
    "Nothing is published or spent by checking. Read what would happen, answer what only people can answer, and let a second person approve it.";

  constructor(app) {
    this.app = app;
    this.job = null;
    this.dossier = null;
    this.approval = new Approval(this);
  }

  needs() {
    return this.app.project.plan ? null : { text: "There is no plan yet. Choose the trips first.", step: "data" };
  }

  status() {
    const { project } = this.app;
    if (!project.plan) return { done: false, text: "after Data" };
    if (this.job) return { done: false, text: "checking …" };
    const stops = project.checked && this.verdict(project.checked)[0] === "stop";
    return {
      done: project.state.steps.check === "done" || Boolean(project.checked && !stops),
      text: project.checked ? (stops ? "a release would stop" : "checked") : "not checked yet",
      warn: Boolean(stops),
    };
  }

  async draw() {
    const { project } = this.app;
    if (!project.plan.valid) return el("div", { class: "cards" }, mistakes(this.app));
    if (project.checked) await project.known("ledger");
    await this.approval.read();
    return el(
      "div",
      { class: "cards" },
      this.run(),
      project.checked ? this.found(project.checked) : null,
      this.papers(),
      this.approval.draw(),
    );
  }

  async check() {
    const { project, shell, wire } = this.app,
      { version } = project.plan;
    await this.app.attempt(async () => {
      const checked = await wire.work("check", { plan_only: false }, (job) => this.progress(job));
      if (project.plan?.version !== version)
        throw new Failure(409, { kind: "Overtaken", message: "The plan was changed meanwhile. Check it again." });
      project.checked = checked;
      project.plan.shown = true;
      shell.say(`Checked. ${this.verdict(checked)[1]}`);
    }, "check-run");
    this.job = null;
    await this.app.draw();
    at("check-run")?.focus({ preventScroll: true });
  }

  progress(job) {
    if (!UNDER_WAY.has(job.state)) return;
    this.job = job;
    at("check-progress")?.replaceChildren(progress(job));
  }

  // --- what check says -----------------------------------------------------------------------------------------------------

  run() {
    const { checked, plan } = this.app.project;
    const [weight, text] = checked ? this.verdict(checked) : [null, null];
    return card(
      {
        title: "Check the plan against the trips",
        span: true,
        id: "run",
        note: `Reads ${plan.plan}, the ledger and the trips, as a release would, and stops before it. What you change of tables, bins, areas or bounds afterwards is recorded in the plan.`,
      },
      weight ? remark(weight, text) : null,
      el(
        "div",
        { class: "tools" },
        el(
          "button",
          { type: "button", id: "check-run", class: checked ? "" : "primary", onclick: () => this.check() },
          checked ? "Check again" : "Check everything",
        ),
      ),
      el("div", { id: "check-progress" }, this.job ? progress(this.job) : null),
    );
  }

  // What stops a release, or whether the ledger has room for it now: another may have been made since.
  verdict(checked) {
    return checked.stops ? ["stop", checked.stops] : roomIn(this.app.project.ledger ?? checked.ledger);
  }

  // Tables that would most likely have no cell.
  empty(tables) {
    const { project } = this.app,
      none = tables.filter((table) => table.expected_cells < 0.5);
    if (!none.length) return null;
    return remark(
      "warn",
      none.length === tables.length
        ? "Most likely nothing at all would be published, and the budget be spent all the same. Choose coarser times and places, more days at once, or a weaker promise."
        : `Most likely nothing would be published of ${listed(none.map((table) => `“${project.title(table.name)}”`))}, and the budget be spent on it all the same. Remove what stays empty, or choose coarser times and places.`,
    );
  }

  found(checked) {
    const { project } = this.app,
      data = checked.data;
    return card(
      { title: "What would be published", span: true, secret: Boolean(data), id: "found" },
      data
        ? el(
            "dl",
            { class: "facts" },
            fact(number(data.rows_read), "rows read"),
            fact(number(Object.values(data.rows_refused ?? {}).reduce((sum, n) => sum + n, 0)), "rows refused"),
            fact(number(data.rows_elsewhere ?? 0), "of other days or modes"),
          )
        : null,
      data
        ? refusedTable(
            Object.entries(data.rows_refused ?? {}).map(([reason, rows]) => ({
              reason,
              rows,
              at: data.rows_refused_at?.[reason] ?? [],
            })),
          )
        : null,
      data?.tables?.length
        ? grid(
            "What would be published, by table",
            ["Table", "Cells published", "Cells with trips", "Share of trips"],
            data.tables.map((table) => [
              project.title(table.name),
              number(Math.round(table.expected_cells)),
              number(table.cells),
              el("span", { class: "inline" }, spark(table.trip_share), percent(table.trip_share)),
            ]),
            { numbers: [1, 2, 3] },
          )
        : null,
      data?.tables?.length ? this.empty(data.tables) : null,
      ...(data?.tables ?? []).filter((table) => table.advice).map((table) => remark("hint", titled(table.advice, project.model.tables))),
      ...(data?.notes ?? []).map((note) => remark("hint", note)),
      checked.text
        ? el(
            "details",
            {},
            el("summary", {}, "Everything that the command “tapveil check” prints"),
            el(
              "pre",
              { class: "printed", tabindex: 0, role: "region", "aria-label": "Output of tapveil check" },
              checked.text,
            ),
          )
        : null,
    );
  }

  // --- the dossier -------------------------------------------------------------------------------------------------------------

  papers() {
    const { dossier } = this;
    const open = () =>
      this.app.attempt(async () => {
        this.dossier = await this.app.wire.work("dossier", {});
        await this.app.draw();
        this.show(this.dossier.address);
      }, "dossier-make");
    return card(
      {
        title: "The dossier",
        span: true,
        id: "dossier",
        note: "For the privacy officer and the lawyer: the promise, the hazards, the law, the ledger and the choices, on a few pages.",
      },
      el(
        "div",
        { class: "tools" },
        el(
          "button",
          { type: "button", id: "dossier-make", onclick: open },
          dossier ? "Make it again" : "Make the dossier",
        ),
        dossier
          ? el("button", { type: "button", id: "dossier-write", onclick: () => this.write() }, "Keep it as a file")
          : null,
      ),
      this.wrote ? remark("good", `Written: ${this.wrote}.`) : null,
      dossier
        ? [
            dossier.confidential ? confidential("it contains the ledger. For the officer, not for the public.") : null,
            dossier.changes?.length
              ? remark(
                  "warn",
                  "Changed since the dossier before:",
                  el(
                    "ul",
                    { class: "plain" },
                    dossier.changes.map(({ key, was, now }) => el("li", {}, `${key}: ${was} → ${now || "gone"}`)),
                  ),
                )
              : null,
            el(
              "p",
              {},
              el(
                "b",
                {},
                dossier.open
                  ? `${number(dossier.open)} of ${plural(dossier.asked, "question")} open.`
                  : `All ${number(dossier.asked)} questions are answered.`,
              ),
              " Only people can answer them; the answers are kept next to the plan.",
            ),
            el(
              "div",
              { class: "stack" },
              dossier.questions.map((question) => this.question(question)),
            ),
            el("div", { id: "dossier-frame", class: "shown" }),
          ]
        : null,
    );
  }

  show(address) {
    const place = at("dossier-frame");
    if (!address || !place) return;
    place.replaceChildren(el("iframe", { src: address, sandbox: "allow-scripts", title: "The dossier", tabindex: 0 }));
  }

  question(question) {
    const own = `dossier-${question.key}`,
      by = "dossier-by";
    const save = (event) => {
      event.preventDefault();
      this.app.attempt(async () => {
        const answer = typedIn(own, question.answer);
        const name = typedIn(`${own}-by`, question.by || typed.get(by) || "");
        if (!answer || !name)
          throw new Failure(0, {
            kind: "UsageError",
            message: "An answer needs a text, and the name of who gives it.",
          });
        const found = await this.app.wire.call("dossier/answer", { key: question.key, answer, by: name });
        this.dossier = { ...this.dossier, ...found };
        saved(own, `${own}-by`);
        this.name = name;
        const frame = at("dossier-frame")?.firstElementChild;
        await this.app.draw();
        if (frame)
          at("dossier-frame")?.replaceChildren(el("p", { class: "note" }, "Make it again to see the answer in it."));
        this.app.shell.say(`Answered. ${plural(this.dossier.open, "question")} open.`);
      }, `${own}-save`);
    };
    return el(
      "details",
      { class: `question${question.answer ? "" : " open"}`, open: typed.has(own) },
      el(
        "summary",
        {},
        spoken(question.text),
        question.answer ? el("span", { class: "answered" }, ` ✓ ${question.by}, ${dayTitle(question.on)}`) : null,
      ),
      el(
        "form",
        { class: "stack", onsubmit: save },
        field(own, "Answer", { value: question.answer ?? "", lines: true }),
        el(
          "div",
          { class: "fields" },
          field(`${own}-by`, "Answered by", { value: question.by || this.name || "" }),
          spaced(el("button", { type: "submit", id: `${own}-save` }, "Save the answer")),
        ),
      ),
    );
  }

  async write() {
    await this.app.attempt(async () => {
      const { path } = await this.app.wire.call("dossier/write", { output: "dossier.html" });
      this.wrote = path;
      await this.app.draw();
      this.app.shell.say(`Written: ${path}.`);
    }, "dossier-write");
  }
}
