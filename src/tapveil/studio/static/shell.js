// What is around the steps: the line of stops, the drawer with the plan, colours, and how trouble is said.

class Shell {
  constructor(app) {
    this.app = app;
    this.shown = "words";
    at("project").textContent = app.wire.folder;
    at("skip").addEventListener("click", (event) => {
      event.preventDefault();
      at("step").focus();
    });
    at("show-plan").addEventListener("click", () => this.toggle());
    document.addEventListener("keydown", (event) => {
      if (event.altKey && event.key.toLowerCase() === "p") {
        event.preventDefault();
        this.toggle();
      }
      if (event.key === "Escape" && !at("drawer").hidden && at("drawer").contains(document.activeElement))
        this.toggle();
    });
    this.theme = null;
    at("theme").addEventListener("click", () => {
      this.theme = this.dark ? "light" : "dark";
      this.colour();
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.colour());
    this.colour();
  }

  get dark() {
    return this.theme ? this.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  }

  colour() {
    document.documentElement.dataset.theme = this.dark ? "dark" : "light";
    at("theme").textContent = this.dark ? "Light" : "Dark";
    at("theme").setAttribute("aria-label", this.dark ? "Change to light colours" : "Change to dark colours");
  }

  // The six stops; a stop that was passed is full of the line's colour, and each says where it stands.
  route(steps, current) {
    const now = steps.findIndex((step) => step.id === current);
    redraw(
      at("route"),
      steps.map((step, i) => {
        const status = step.status();
        return el(
          "li",
          { class: `${status.done ? "done" : ""}${i < now ? " passed" : ""}${status.warn ? " warn" : ""}` },
          el(
            "a",
            { href: `#${step.id}`, id: `to-${step.id}`, "aria-current": i === now ? "step" : null },
            el("span", { class: "stop", "aria-hidden": "true" }, status.done && i !== now ? "✓" : String(i + 1)),
            el("span", {}, el("span", { class: "name" }, step.name), el("span", { class: "now" }, status.text)),
          ),
        );
      }),
    );
  }

  // --- the plan -------------------------------------------------------------------------------------------------------

  toggle() {
    const drawer = at("drawer");
    drawer.hidden = !drawer.hidden;
    at("frame").classList.toggle("open", !drawer.hidden);
    at("show-plan").setAttribute("aria-expanded", String(!drawer.hidden));
    at("show-plan").textContent = drawer.hidden ? "Show the plan" : "Hide the plan";
    if (drawer.hidden) at("show-plan").focus();
    else {
      this.plan();
      at("drawer-title").focus();
    }
    this.app.resized();
  }

  plan() {
    if (at("drawer").hidden) return;
    const seen = at("drawer").querySelector(".toml")?.scrollTop ?? 0;
    const { plan } = this.app.project;
    const show = (what) => () => {
      this.shown = what;
      this.plan();
    };
    const switches = el(
      "div",
      { class: "tools" },
      [
        ["words", "In words"],
        ["text", "As it is written"],
        ["edit", "Edit by hand"],
      ].map(([what, text]) =>
        el(
          "button",
          {
            type: "button",
            class: "quiet",
            id: `plan-${what}`,
            "aria-pressed": String(this.shown === what),
            onclick: show(what),
          },
          text,
        ),
      ),
    );
    const inside = plan
      ? [
          switches,
          this.shown === "words" ? this.words(plan) : this.shown === "text" ? this.lines(plan) : this.hand(plan),
        ]
      : [
          el(
            "p",
            { class: "note" },
            "There is no plan yet. It is written at the end of the first step, from what you choose and answer there.",
          ),
        ];
    redraw(
      at("drawer"),
      el(
        "div",
        {},
        el(
          "div",
          { class: "head" },
          el(
            "div",
            {},
            el("h2", { id: "drawer-title", tabindex: -1 }, "The plan"),
            el(
              "p",
              { class: "note" },
              plan ? `${plan.plan}: everything that is decided here, and what an officer approves.` : "",
            ),
          ),
          el("button", { type: "button", class: "quiet", onclick: () => this.toggle() }, "Close"),
        ),
        ...inside,
      ),
    );
    this.bringIntoView(seen);
  }

  // What the last change wrote is brought into view, once.
  bringIntoView(seen) {
    const text = at("drawer").querySelector(".toml"),
      fresh = text?.querySelector(".fresh");
    if (!text) return;
    const isNew = fresh && this.marked !== this.app.project.plan.version;
    text.scrollTop = isNew ? Math.max(0, fresh.offsetTop - text.offsetTop - 80) : seen;
    this.marked = this.app.project.plan.version;
  }

  words(plan) {
    const problems = plan.problems.map((problem) =>
      remark("stop", `${problem.line ? `line ${problem.line}: ` : ""}${problem.message}`),
    );
    return el(
      "div",
      { class: "stack scrolls", tabindex: 0, role: "region", "aria-label": "The plan in words" },
      ...problems,
      ...plan.words.map((sentence) => el("p", {}, sentence)),
    );
  }

  // The text with its lines numbered; lines that the last change wrote are marked.
  lines(plan) {
    const before = new Set((this.app.project.before ?? plan.text).split("\n"));
    return el(
      "pre",
      { class: "toml", tabindex: 0, role: "region", "aria-label": `The text of ${plan.plan}` },
      plan.text
        .replace(/\n$/, "")
        .split("\n")
        .map((line) => {
          const fresh = line.trim() && !before.has(line);
          const kind = line.startsWith("#") ? "note-line" : /^\[/.test(line) ? "section" : "";
          return el(
            "span",
            { class: `row ${kind}${fresh ? " fresh" : ""}` },
            fresh ? el("span", { class: "hidden" }, "changed: ") : null,
            line || " ",
          );
        }),
    );
  }

  hand(plan) {
    const save = async () => {
      await this.app.attempt(async () => {
        await this.app.project.text(typedIn("plan-hand", plan.text));
        saved("plan-hand");
        this.say(this.app.project.plan.valid ? "The plan is saved." : "The plan is saved, and has mistakes.");
        await this.app.draw();
      }, "plan-save");
    };
    return el(
      "div",
      { class: "stack scrolls" },
      ...plan.problems.map((problem) =>
        remark("stop", `${problem.line ? `line ${problem.line}: ` : ""}${problem.message}`),
      ),
      field("plan-hand", "The text of the plan (TOML)", {
        value: plan.text,
        lines: true,
        class: "code",
        note: "Saving writes it as it is, also with mistakes: they are then listed here with their lines.",
      }),
      el(
        "div",
        { class: "tools" },
        el("button", { type: "button", class: "primary", id: "plan-save", onclick: save }, "Save the text"),
        el(
          "button",
          {
            type: "button",
            onclick: () => {
              saved("plan-hand");
              this.plan();
            },
          },
          "Discard my changes",
        ),
      ),
    );
  }

  // --- what is said ------------------------------------------------------------------------------------------------------

  say(text) {
    at("said").textContent = "";
    at("said").textContent = text;
  }

  // Trouble stands above the step until the next thing works; it names what to do.
  trouble(error, again = null) {
    const place = at("trouble");
    const todo = {
      Changed:
        "Somebody changed the file since this page read it. It was read again: look at it, then repeat what you did.",
      Approval: "The step “Check” shows what has to be approved, and what changed.",
      Fault:
        "This is a fault of the studio, not of your files. The plan and the ledger are as they were. Repeat it, or do this step by a command.",
    }[error.kind];
    place.replaceChildren(
      el(
        "p",
        {},
        el("b", {}, error.kind === "Ended" ? "The studio has ended. " : "That did not work. "),
        spoken(sentence(error.message)),
      ),
      ...[inTheStudio(error.message)].filter(Boolean),
      ...(error.problems ?? []).map((problem) =>
        el(
          "p",
          {},
          typeof problem === "string" ? problem : `${problem.line ? `Line ${problem.line}: ` : ""}${problem.message}`,
        ),
      ),
      ...(todo ? [el("p", {}, todo)] : []),
      ...(again ? [el("div", { class: "tools" }, el("button", { type: "button", onclick: again }, "Try again"))] : []),
    );
    place.hidden = false;
    place.scrollIntoView({ block: "nearest" });
  }

  // The last change made the plan say something that nobody asked for.
  noted(isSo) {
    at("noted").hidden = !isSo;
    if (!isSo) return at("noted").replaceChildren();
    if (!at("noted").firstElementChild) at("noted").append(remark("warn", NOTED));
  }

  calm() {
    at("trouble").hidden = true;
    at("trouble").replaceChildren();
  }
}

const NOTED =
  "Exact numbers of these trips were shown before this change, so the plan now says that it was chosen by looking at the trips (looked_at_trips = true). Readers and the officer are told.";
