// Step 6: the budget is charged, the noise is drawn, the folder is written. Then anybody can verify it.

class ReleaseStep {
  id = "release";
  name = "Release";
  title = "Publish";
  lead = "One folder: the numbers, a page to explore them, and everything a reader needs to check the promise.";

  constructor(app) {
    this.app = app;
    this.job = null;
    this.made = null;
    this.checks = new Map();
    this.pushed = null;
    this.extra = {};
  }

  needs() {
    const { project } = this.app;
    if (!project.plan) return { text: "There is no plan yet. Choose the trips first.", step: "data" };
    if (project.plan.valid && !project.state.ledger?.exists)
      return {
        text: "There is no ledger yet. Declare the budget first: a release without one is refused.",
        step: "budget",
      };
    return null;
  }

  status() {
    const { project } = this.app,
      count = project.state?.published?.length ?? 0;
    if (this.job) return { done: false, text: "publishing …" };
    return { done: count > 0, text: count ? plural(count, "folder") : "not yet" };
  }

  async draw() {
    const { project } = this.app;
    if (!project.plan.valid) return el("div", { class: "cards" }, mistakes(this.app));
    this.portals ??= (await this.app.wire.call("portals")).portals;
    const made = project.state.published.map((folder) => this.folder(folder));
    if (made.length && !this.job) await project.known("ledger");
    return el(
      "div",
      { class: "cards" },
      this.job ? this.running() : made.length ? null : this.ready(),
      ...made,
      made.length && !this.job ? this.ready() : null,
    );
  }

  // --- before ---------------------------------------------------------------------------------------------------------------

  ready() {
    const { project } = this.app,
      { model } = project,
      unfinished = project.state.unfinished?.[0];
    const names = new Set(project.state.published.map((folder) => folder.name));
    let free = "published";
    for (let i = 2; names.has(free); i += 1) free = `published-${i}`;
    const submit = (event) => {
      event.preventDefault();
      this.start({
        output: typedIn("output", free),
        sign: typedIn("sign") || null,
        passphrase: at("sign-pass")?.value || null,
        resume: false,
        ...this.extra,
      });
    };
    if (unfinished)
      return card(
        { title: "A release was not finished", span: true, id: "ready" },
        remark(
          "warn",
          `“${unfinished.output}” was begun and not finished. If it was charged to the budget, finishing it costs nothing more.`,
        ),
        el("div", { class: "fields" }, this.signing()),
        el(
          "div",
          { class: "tools" },
          el(
            "button",
            {
              type: "button",
              class: "primary",
              id: "resume",
              onclick: () =>
                this.start({
                  output: unfinished.output,
                  resume: true,
                  again: false,
                  all_days: false,
                  sign: typedIn("sign") || null,
                  passphrase: at("sign-pass")?.value || null,
                }),
            },
            "Finish it",
          ),
        ),
      );
    return card(
      { title: names.size ? "Publish another folder" : "Publish the folder", span: true, id: "ready" },
      el(
        "dl",
        { class: "facts" },
        fact(model.epsilon ? `ε ${model.epsilon}` : "see the plan", "is charged to the budget"),
        fact(UNITS[model.unit]?.[0] ?? model.unit, "is hidden"),
        fact(
          plural(model.tables.length, "table"),
          model.first_day ? `${dayTitle(model.first_day)} to ${dayTitle(model.last_day)}` : "all days",
        ),
      ),
      names.size && project.ledger ? remark(...roomIn(project.ledger)) : null,
      remark(
        "warn",
        "This spends the budget. It cannot be undone: what readers have copied stays with them, and the ledger forgets nothing.",
      ),
      el(
        "form",
        { class: "stack", onsubmit: submit },
        el(
          "div",
          { class: "fields" },
          field("output", "Name of the folder", { value: free }),
          this.signing(),
        ),
        this.offers(),
        el(
          "div",
          { class: "tools" },
          el(
            "button",
            { type: "submit", class: "primary", id: "publish" },
            model.epsilon ? `Spend ε ${model.epsilon} and publish` : "Spend the budget and publish",
          ),
        ),
      ),
    );
  }

  signing() {
    return [
      field("sign", "Sign it with a key (optional)", {
        note: "Where the private key is, such as /home/me/.ssh/id_ed25519. Readers can then verify who published it.",
      }),
      el(
        "div",
        { class: "field" },
        el("label", { for: "sign-pass" }, "Passphrase of the key, if it has one"),
        el("input", { id: "sign-pass", type: "password", autocomplete: "off" }),
      ),
    ];
  }

  // What a refusal asks to be confirmed.
  offers() {
    return el(
      "div",
      { class: "stack" },
      "resume" in this.extra
        ? tickbox(
            "resume-it",
            "Finish the release that was begun",
            this.extra.resume,
            (on) => (this.extra.resume = on),
            "If it was charged, finishing it costs nothing more.",
          )
        : null,
      "again" in this.extra
        ? tickbox(
            "again",
            "Publish these days again",
            this.extra.again,
            (on) => (this.extra.again = on),
            "They were released before. The costs of both add up.",
          )
        : null,
      "all_days" in this.extra
        ? tickbox(
            "all-days",
            "Count for all days",
            this.extra.all_days,
            (on) => (this.extra.all_days = on),
            "The plan names no days: every later release of these trips adds up with it.",
          )
        : null,
    );
  }

  start(asked) {
    const first = { stage: "Starting", share: null, stages: [], can_cancel: false };
    return this.follow(() => this.app.wire.work("release", asked, (job) => this.progress(job)), first);
  }

  // A release that was started here, or that was under way when the page was loaded.
  async follow(work, first) {
    const { project, shell } = this.app;
    let failure = null;
    this.job = first;
    if (this.app.step === this) await this.app.draw();
    at("running-title")?.setAttribute("tabindex", "-1");
    at("running-title")?.focus({ preventScroll: true });
    const done = await this.app.attempt(async () => {
      try {
        this.made = await (typeof work === "function" ? work() : work);
      } catch (error) {
        failure = error;
        throw error;
      }
    });
    this.job = null;
    project.forgetLedger();
    await project.read().catch(() => {});
    if (done) {
      saved("output", "sign");
      this.extra = {};
      shell.say(`Published: ${this.made.folder}.`);
    } else this.offer(failure);
    await this.app.draw();
    if (!done || this.app.step !== this) return;
    await this.verify(this.made.folder);
    await this.look(this.made.folder, "explorer.html");
  }

  // What must be confirmed before the same is asked again.
  offer(failure) {
    if (failure?.code === "again") this.extra.again ??= false;
    if (failure?.code === "no-days") this.extra.all_days ??= false;
    if (failure?.code === "resumable") this.extra.resume ??= false;
  }

  progress(job) {
    if (!UNDER_WAY.has(job.state)) return;
    if (job.stage !== this.job?.stage) this.app.shell.say(job.stage);
    this.job = job;
    const place = at("running");
    if (place) place.replaceWith(this.running());
  }

  running() {
    const { job } = this;
    return card(
      {
        title: "Publishing",
        span: true,
        id: "running",
        note: "You may close this page: what was charged is never lost, and an unfinished release can be finished.",
      },
      job.stages?.length
        ? el(
            "ol",
            { class: "stages" },
            job.stages.map((stage) => el("li", {}, `✓ ${stage}`)),
          )
        : null,
      progress(job),
      job.can_cancel
        ? el(
            "div",
            { class: "tools" },
            el(
              "button",
              {
                type: "button",
                class: "danger",
                id: "cancel",
                onclick: () => this.app.attempt(() => this.app.wire.call("cancel", { job: job.id })),
              },
              "Stop",
            ),
          )
        : null,
    );
  }

  // --- after ----------------------------------------------------------------------------------------------------------------

  folder(folder) {
    const checked = this.checks.get(folder.name),
      own = `folder-${folder.name}`,
      fresh = this.made?.folder === folder.name;
    return card(
      {
        title: folder.title || folder.name,
        span: true,
        id: own,
        note: `${folder.name}/${folder.days?.[0] ? ` · ${dayTitle(folder.days[0])} to ${dayTitle(folder.days[1])}` : ""}${folder.signed ? " · signed" : " · not signed"}`,
      },
      checked
        ? remark(
            checked.verified ? "good" : "stop",
            checked.verified ? `Verified. ${sentence(checked.summary)}` : sentence(checked.summary),
            checked.findings?.length
              ? el(
                  "ul",
                  { class: "plain" },
                  checked.findings.map((each) => el("li", {}, `${each.where ? `${each.where}: ` : ""}${each.what}`)),
                )
              : null,
          )
        : null,
      ...(checked?.notes ?? []).map((note) => remark("hint", sentence(note))),
      el(
        "div",
        { class: "tools" },
        el(
          "button",
          { type: "button", id: `verify-${folder.name}`, onclick: () => this.verify(folder.name) },
          checked ? "Verify again" : "Verify",
        ),
        el(
          "button",
          { type: "button", id: `look-${folder.name}`, onclick: () => this.look(folder.name, "explorer.html") },
          "Look at its page",
        ),
        el(
          "button",
          { type: "button", id: `read-${folder.name}`, onclick: () => this.look(folder.name, "rider.html") },
          "The page for riders",
        ),
      ),
      el("div", { class: "shown", id: `shown-${folder.name}` }),
      fresh && this.made.lines?.length
        ? el(
            "details",
            {},
            el("summary", {}, "What the command “tapveil release” prints"),
            el(
              "pre",
              { class: "printed", tabindex: 0, role: "region", "aria-label": "Output of tapveil release" },
              this.made.lines.join("\n"),
            ),
          )
        : null,
      this.delivery(folder),
    );
  }

  async verify(name) {
    await this.app.attempt(async () => {
      const found = await this.app.wire.work("verify", { folder: name });
      this.checks.set(name, found);
      const shown = at(`shown-${name}`)?.firstElementChild ?? null;
      await this.app.draw();
      if (shown) await this.look(name, shown.dataset.page);
      this.app.shell.say(found.verified ? "Verified." : "Not verified.");
    }, `verify-${name}`);
  }

  async look(name, page) {
    await this.app.attempt(
      async () => {
        const { address } = await this.app.wire.call("show", { folder: name, page });
        const title = page === "rider.html" ? "The page for riders" : "The published page";
        at(`shown-${name}`)?.replaceChildren(
          el("iframe", {
            src: address,
            sandbox: "allow-scripts allow-downloads",
            title: `${title} of ${name}`,
            "data-page": page,
          }),
        );
      },
      page === "rider.html" ? `read-${name}` : `look-${name}`,
    );
  }

  // --- delivery -----------------------------------------------------------------------------------------------------------------

  delivery(folder) {
    const id = (what) => `push-${what}-${folder.name}`;
    const ready = this.portals.filter((portal) => portal.credentials);
    const push = (dry) =>
      this.app.attempt(
        async () => {
          const asked = {
            folder: folder.name,
            portal: typedIn(id("portal"), this.portals[0]?.name),
            to: typedIn(id("to")),
            owner: typedIn(id("owner")) || null,
            name: typedIn(id("name")) || null,
            unsigned: this.unsigned === folder.name,
            dry_run: dry,
          };
          if (!asked.to)
            throw new Failure(0, {
              kind: "UsageError",
              message: "Type the address of the portal, such as https://data.example.org.",
            });
          this.pushed = { folder: folder.name, dry, ...(await this.app.wire.work("push", asked)) };
          await this.app.draw();
          this.app.shell.say(dry ? "This is what would be sent." : "Delivered.");
        },
        id(dry ? "dry" : "go"),
      );
    const result = this.pushed?.folder === folder.name ? this.pushed : null;
    return el(
      "details",
      { open: Boolean(result) },
      el("summary", {}, "Deliver it to an open-data portal"),
      ready.length
        ? null
        : remark(
            "hint",
            `The access token of a portal is never typed here. Set it before the studio starts: ${listed(this.portals.map((portal) => portal.variable).filter(Boolean), "or")}.`,
          ),
      el(
        "form",
        {
          class: "fields",
          onsubmit: (event) => {
            event.preventDefault();
            push(true);
          },
        },
        field(id("portal"), "Portal", {
          options: this.portals.map((portal) => [
            portal.name,
            `${portal.name}${portal.credentials ? "" : " (no token)"}`,
          ]),
          value: (ready[0] ?? this.portals[0])?.name,
        }),
        field(id("to"), "Address", { type: "url", note: "Such as https://data.example.org." }),
        field(id("owner"), "Owner or organisation there"),
        field(id("name"), "Name of the data set there", { note: "Left empty, it has the name of the release." }),
        folder.signed
          ? null
          : tickbox(
              id("unsigned"),
              "Deliver it without a signature",
              this.unsigned === folder.name,
              (on) => (this.unsigned = on ? folder.name : null),
              "It is not signed, so nobody can check who published it.",
            ),
        spaced(el("button", { type: "submit", id: id("dry") }, "Show what would be sent")),
      ),
      result?.requests
        ? el(
            "pre",
            { class: "printed", tabindex: 0, role: "region", "aria-label": "What would be sent" },
            result.requests.join("\n\n"),
          )
        : null,
      result?.dry
        ? el(
            "div",
            { class: "tools" },
            el("button", { type: "button", class: "primary", id: id("go"), onclick: () => push(false) }, "Deliver it"),
          )
        : null,
      result && !result.dry ? remark("good", `Delivered: ${result.address ?? ""}`) : null,
    );
  }
}
