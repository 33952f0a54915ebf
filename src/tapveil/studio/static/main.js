// The studio: six steps on one line. The address says which step is shown, and nothing else.

class Studio {
  constructor() {
    this.wire = new Wire();
    this.underWay = 0;
    this.turn = 0;
    this.stale = false;
    this.project = new Project(this.wire);
    this.steps = [DataStep, PublishStep, PromiseStep, BudgetStep, CheckStep, ReleaseStep].map((Step) => new Step(this));
    this.shell = new Shell(this);
    this.project.listeners.push(() => {
      this.shell.plan();
      this.shell.noted(this.project.noted);
    });
    this.wire.onend = () => this.over();
    this.wire.onjob = (job) => this.adopt(job);
    this.wire.oncalibrated = () => this.calibrated();
    this.wire.onchange = (what) => this.changed(what);
    at("back").addEventListener("click", () => this.go(-1));
    at("next").addEventListener("click", () => this.next());
    window.addEventListener("hashchange", () => this.show());
    this.pressed = false;
    window.addEventListener("pointerdown", ({ button }) => (this.pressed = button === 0));
    for (const moment of ["pointerup", "pointercancel", "blur"]) // the click comes right after it
      window.addEventListener(moment, () => setTimeout(() => (this.pressed = false)));
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (width === window.innerWidth) return;
      width = window.innerWidth;
      this.resized();
    });
    window.addEventListener("beforeunload", (event) => {
      const { looked, chosen } = this.project;
      const answered = looked && Object.keys(chosen.answers).length > 0;
      if ((typed.size || answered) && !this.wire.ended) event.preventDefault();
    });
  }

  get busy() {
    return this.underWay > 0;
  }

  async start() {
    this.wire.listen();
    await this.wire.heard; // what changes from now on is told
    await this.attempt(() => this.project.read());
    const wanted = this.steps.find((step) => `#${step.id}` === location.hash) ?? this.resumed();
    history.replaceState(null, "", `#${wanted.id}`);
    await this.show(false);
    performance.mark("drawn");
  }

  // The first step that is not done.
  resumed() {
    return this.steps.find((step) => !step.status().done) ?? this.steps.at(-1);
  }

  get step() {
    return this.steps.find((step) => `#${step.id}` === location.hash) ?? this.steps[0];
  }

  go(by) {
    const next = this.steps[this.steps.indexOf(this.step) + by];
    if (next) location.hash = next.id;
  }

  // A step may have something to do before it is left.
  async next() {
    if (this.step.leave && !(await this.attempt(() => this.step.leave(), "next"))) return;
    this.go(1);
  }

  async show(focus = true) {
    if (this.wire.ended) return;
    this.shell.calm();
    const { step } = this,
      i = this.steps.indexOf(step);
    at("step-count").textContent = `Step ${i + 1} of ${this.steps.length}`;
    at("step-title").textContent = step.title;
    at("step-lead").textContent = step.lead;
    document.title = `${step.name} · tapveil studio`;
    at("content").replaceChildren(el("p", { class: "note waiting" }, "Reading …"));
    await this.draw();
    if (focus) {
      window.scrollTo({ top: 0, behavior: "instant" });
      at("step").focus({ preventScroll: true });
      this.shell.say(`Step ${i + 1}: ${step.title}`);
    }
  }

  // The step as it is now. What a step needs and does not have yet is said, with the way there.
  async draw() {
    const { step } = this,
      turn = (this.turn += 1),
      missing = step.needs?.();
    const worked = await this.attempt(
      async () => {
        const drawn = missing ? [this.elsewhere(missing)] : await step.draw();
        await this.released();
        if (step !== this.step || turn !== this.turn) return; // the last drawing is the one to keep
        redraw(at("content"), drawn);
        at("content").dataset.step = step.id;
      },
      null,
      false,
    );
    if (!worked && at("content").querySelector(".waiting"))
      at("content").replaceChildren(
        el("p", {}, el("button", { type: "button", onclick: () => this.show() }, "Read it again")),
      );
    this.frame();
    this.shell.plan();
  }

  // A click is lost where what is pressed is drawn again before the button is released.
  async released() {
    while (this.pressed) await new Promise((resolve) => setTimeout(resolve, 20));
  }

  frame() {
    const { step } = this,
      i = this.steps.indexOf(step);
    this.shell.route(this.steps, step.id);
    at("back").hidden = i === 0;
    at("back").textContent = i ? `← ${this.steps[i - 1].name}` : "";
    at("next").hidden = i === this.steps.length - 1;
    at("next").textContent = step.nextTitle?.() ?? (i < this.steps.length - 1 ? `${this.steps[i + 1].name} →` : "");
    at("next-why").textContent = step.why?.() ?? "";
  }

  elsewhere({ text, step }) {
    const target = this.steps.find((each) => each.id === step);
    return el(
      "div",
      { class: "cards" },
      card(
        { title: "First", span: true },
        el("p", {}, text),
        el("p", {}, el("a", { class: "button", href: `#${step}` }, `Go to ${target.name}`)),
      ),
    );
  }

  // Does something that may fail; trouble is said until something else works, what was typed stays. Buttons wait meanwhile.
  async attempt(work, button = null, calms = true) {
    const waiting = button && at(button);
    if (waiting?.getAttribute("aria-disabled") === "true") return false;
    waiting?.setAttribute("aria-disabled", "true");
    this.wait(+1);
    try {
      await work();
      if (calms) this.shell.calm();
      return true;
    } catch (error) {
      if (error.name === "AbortError") return false;
      if (!(error instanceof Failure)) {
        this.shell.trouble(new Failure(0, { kind: "Fault", message: `${error.name}: ${error.message}` }));
        throw error;
      }
      if (error.kind === "Changed") {
        await this.project.read().catch(() => {});
        await this.draw();
      }
      this.shell.trouble(error);
      return false;
    } finally {
      this.wait(-1);
      this.refresh();
      (button && at(button))?.removeAttribute("aria-disabled");
    }
  }

  // What takes longer than a moment is seen to be under way.
  wait(change) {
    this.underWay += change;
    document.body.classList.toggle("working", this.busy);
    at("content").setAttribute("aria-busy", String(this.busy));
  }

  // A page that was loaded again finds the release that is under way.
  adopt(job) {
    const release = this.steps.at(-1);
    if (job.kind === "release" && UNDER_WAY.has(job.state) && !release.job)
      release.follow(
        this.wire.follow(job.id, (now) => release.progress(now)),
        job,
      );
  }

  // Noise that was shown roughly is known exactly now.
  calibrated() {
    if (this.step.calibrated && !this.busy) this.step.calibrated();
  }

  // The trips are counted once and held by the server, in memory alone.
  async count() {
    if (this.counting) return;
    this.counting = { stage: "Counting the trips", share: null };
    await this.attempt(async () => {
      await this.draw();
      this.project.counted = await this.wire.work("count", {}, (job) => {
        if (!UNDER_WAY.has(job.state)) return;
        this.counting = job;
        for (const place of document.querySelectorAll(".progress")) place.replaceWith(progress(job));
      });
      this.project.plan.shown = true;
      this.shell.say("The trips are counted.");
    });
    this.counting = null;
    await this.draw();
  }

  // A command changed a file, or we did: what is shown is read again, unless nothing of it is different.
  async changed(what) {
    const { project } = this,
      before = JSON.stringify([project.state, project.plan?.version]);
    if (what.includes("ledger")) project.forgetLedger();
    await project.read().catch(() => {});
    const shows = what.includes("ledger") && SHOW_LEDGER.includes(this.step.id);
    if (!shows && JSON.stringify([project.state, project.plan?.version]) === before) return;
    this.stale = true;
    await this.refresh();
  }

  // Pictures are drawn for the room that there is.
  resized() {
    this.stale = true;
    this.refresh();
  }

  // What changed meanwhile, as the width of the window, is drawn when nothing is under way; but not over a frame, which
  // would be empty then.
  async refresh() {
    if (!this.stale || this.busy) return;
    this.stale = false;
    if (at("content").querySelector("iframe")) this.frame();
    else await this.draw();
  }

  // What could send something is out of reach; what was typed can be seen, and what happened be read.
  over() {
    document.body.classList.add("over");
    for (const id of ["content", "turn", "drawer", "frame-route", "show-plan"]) at(id).inert = true;
    this.shell.trouble(new Failure(0, { kind: "Ended", message: ENDED.replace("This studio has ended. ", "") }));
  }
}

const SHOW_LEDGER = ["budget", "check"];

window.studio = new Studio();
window.studio.start();
