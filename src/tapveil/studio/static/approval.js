// Two people: what the officer signs, what changed since the last time, and their signature.

class Approval {
  constructor(step) {
    this.app = step.app;
    this.state = null;
    this.again = false;
  }

  async read() {
    const { project, wire } = this.app;
    if (!project.state.approval || !project.state.ledger?.exists) return;
    if (this.version !== project.plan.version) this.state = null;
    this.version = project.plan.version;
    this.state ??= await wire.call("approval");
  }

  draw() {
    const { project } = this.app;
    if (!project.state.approval) return null;
    const note =
      "A second person signs exactly this plan with their own key. Whoever publishes cannot change it afterwards.";
    if (!this.state)
      return card(
        { title: "Approval by a second person", span: true, id: "approval", note },
        remark("hint", "An approval is for one ledger. Declare the budget first."),
      );
    const { required, approved, refused, by, until, since } = this.state;
    return card(
      { title: "Approval by a second person", span: true, id: "approval", note },
      approved
        ? remark(
            "good",
            `Approved${by ? ` by ${by}` : ""}${until ? `, for a release that begins by ${dayTitle(until)}` : ""}.`,
          )
        : required
          ? remark(
              "warn",
              refused
                ? sentence(refused)
                : "This project requires it: a release is refused until the plan is approved as it is now.",
            )
          : remark("hint", "The ledger of this project does not require it: whoever publishes decides alone."),
      this.changes(since),
      this.statement(),
      approved ? null : required ? this.form() : this.appoint(),
    );
  }

  changes(since) {
    const { changes } = this.state;
    if (!changes?.length)
      return since ? el("p", {}, `Nothing changed since the approval of ${dayTitle(since)}.`) : null;
    return el(
      "div",
      { class: "stack" },
      el(
        "h3",
        {},
        since ? `What changed since the approval of ${dayTitle(since)}` : "What changed since the last approval",
      ),
      el(
        "ul",
        { class: "plain changes" },
        changes.map((line) => el("li", {}, line)),
      ),
    );
  }

  statement() {
    const { statement } = this.state;
    if (!statement?.length) return null;
    return el(
      "div",
      { class: "stack" },
      el("h3", {}, "What the officer signs"),
      el(
        "ul",
        { class: "plain" },
        statement.map((line) => el("li", {}, line)),
      ),
    );
  }

  // From then on no release is made without the signature of this key.
  appoint() {
    const save = (event) => {
      event.preventDefault();
      this.app.attempt(async () => {
        this.state = await this.app.wire.call("approval/require", { approval: typedIn("require-key") });
        saved("require-key");
        this.app.project.state = await this.app.wire.call("project");
        await this.app.draw();
        this.app.shell.say("Every release needs an approval now.");
      }, "require-save");
    };
    return el(
      "details",
      { open: typed.has("require-key") },
      el("summary", { id: "require-open" }, "Require it from now on"),
      el(
        "form",
        { class: "fields", onsubmit: save },
        field("require-key", "The officer’s public key", {
          note: "Where it is, such as officer.pub. It is written into the ledger; only the officer can take it back.",
        }),
        spaced(el("button", { type: "submit", id: "require-save" }, "Require approval")),
      ),
    );
  }

  form() {
    const approve = (event) => {
      event.preventDefault();
      this.app.attempt(async () => {
        const asked = {
          key: typedIn("approve-key"),
          passphrase: at("approve-pass").value || null,
          by: typedIn("approve-by") || null,
          comment: typedIn("approve-comment") || null,
          until: typedIn("approve-until") || null,
          again: this.again,
          seen: this.state.seen ?? null, // what was shown is what is signed, or nothing
        };
        if (!asked.key) throw new Failure(0, { kind: "UsageError", message: "Type where the officer’s key is." });
        this.state = await this.app.wire.call("approve", asked);
        saved("approve-key", "approve-by", "approve-comment", "approve-until");
        await this.app.draw();
        this.app.shell.say("The plan is approved.");
      }, "approve-save");
    };
    return el(
      "details",
      { open: this.state.required },
      el("summary", { id: "approve-open" }, "Sign it here"),
      el(
        "p",
        { class: "note" },
        "For the officer. It is safer on a machine of theirs, with a copy of this folder: whoever controls the machine on which somebody signs can show one plan and have another signed.",
      ),
      el(
        "form",
        { class: "fields", onsubmit: approve },
        field("approve-key", "The officer’s key", {
          note: "Where the private key is, such as /media/usb/officer; or its .pub, if the SSH agent has it. It is read once, and not kept.",
        }),
        el(
          "div",
          { class: "field" },
          el("label", { for: "approve-pass" }, "Its passphrase, if it has one"),
          el("input", { id: "approve-pass", type: "password", autocomplete: "off" }),
        ),
        field("approve-by", "Name of the officer", { note: "The ledger keeps it." }),
        field("approve-comment", "Comment (optional)", { note: "The ledger keeps it." }),
        field("approve-until", "Last day to begin the release", {
          type: "date",
          note: "Without it: 30 days from today.",
        }),
        tickbox("approve-again", "Also approve that days are published again", this.again, (on) => (this.again = on)),
        spaced(el("button", { type: "submit", id: "approve-save" }, "Approve this plan")),
      ),
    );
  }
}
