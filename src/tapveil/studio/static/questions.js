// Questions about an export: what the files do not say. An answer is written into the plan, and asks for the next look.

class Questions {
  constructor(step) {
    this.step = step;
    this.app = step.app;
  }

  draw(questions) {
    const open = this.step.open();
    const proposed = open.filter((question) => question.proposal && question.proposal !== "?");
    return card(
      {
        title: open.length ? `${plural(open.length, "question")} for you` : "Your answers",
        span: true,
        id: "questions",
        note: "What the files do not say. Each answer is written into the plan.",
        tools: proposed.length
          ? el(
              "button",
              {
                type: "button",
                id: "take-proposed",
                onclick: () => this.answer(Object.fromEntries(proposed.map(({ key, proposal }) => [key, proposal]))),
              },
              proposed.length === 1 ? "Take what is proposed" : `Take all ${proposed.length} that are proposed`,
            )
          : null,
      },
      ...questions.map((question) => this.question(question)),
    );
  }

  question(question) {
    const { answers } = this.app.project.chosen,
      { key, text, choices: offered, proposal } = question,
      answer = answers[key] ?? null,
      id = `question-${key}`;
    const badge = (value) => (value === proposal ? "proposed" : null),
      [, asked, more] = /^(.*?[?:])\s+(.+)$/s.exec(text) ?? [null, text, null];
    const body =
      key === "epsilon"
        ? this.epsilon(question, answer, asked)
        : offered.length
          ? choices(
              `answer-${key}`,
              asked,
              offered.map((value) => [
                value,
                answerTitle(key, value),
                [UNITS[value]?.[1], badge(value)].filter(Boolean).join(" · ") || null,
              ]),
              answer,
              (value) => this.answer({ [key]: value }),
              { note: more },
            )
          : key === "days"
            ? this.days(question, answer, asked, more)
            : el(
                "form",
                {
                  class: "fields",
                  onsubmit: (event) => {
                    event.preventDefault();
                    this.answer({ [key]: typedIn(`answer-${key}`, proposal) });
                  },
                },
                field(`answer-${key}`, asked, {
                  value: answer ?? proposal,
                  note: [more, question.like && `Type ${question.like}.`].filter(Boolean).join(" ") || null,
                }),
                spaced(el("button", { type: "submit" }, answer === null ? "Answer" : "Change the answer")),
              );
    return el(
      "div",
      { class: `question${answer === null ? " open" : ""}`, id },
      answer === null ? null : el("p", { class: "answered" }, "✓ answered"),
      body,
    );
  }

  // How strong the promise is, as four usual answers: the third step has a slider for all others.
  epsilon({ key, proposal }, answer, asked) {
    const often = { 1: "27 and 73 of 100: strong", 2: "12 and 88 of 100: moderate", 4: "2 and 98 of 100: weak" };
    const values = [...new Set([...Object.keys(often), proposal, answer].filter(Boolean))].sort((a, b) => a - b);
    return choices(
      `answer-${key}`,
      asked,
      values.map((value) => [
        value,
        `ε ${value}`,
        [often[value], value === proposal ? "proposed" : ""].filter(Boolean).join(" · ") || null,
      ]),
      answer,
      (value) => this.answer({ [key]: value }),
      {
        note: "Of 100 such publications, this many would make a suspicious neighbour believe that somebody travelled: of those who did not, and of those who did. The step “Promise” shows it as a picture, and has every value between.",
      },
    );
  }

  days(question, answer, asked, more) {
    const [first = "", last = ""] = (answer ?? question.proposal ?? "").match(/\d{4}-\d\d-\d\d/g) ?? [];
    return el(
      "form",
      {
        onsubmit: (event) => {
          event.preventDefault();
          this.answer({
            days: `${typedIn("days-first", first)} to ${typedIn("days-last", last || typedIn("days-first", first))}`,
          });
        },
      },
      el(
        "fieldset",
        {},
        el("legend", {}, asked),
        more ? el("p", { class: "note" }, more) : null,
        el(
          "div",
          { class: "fields" },
          field("days-first", "First day", { type: "date", value: first }),
          field("days-last", "Last day", { type: "date", value: last }),
          spaced(el("button", { type: "submit" }, answer === null ? "These days" : "Change the days")),
        ),
      ),
    );
  }

  async answer(answers) {
    Object.assign(this.app.project.chosen.answers, answers);
    for (const key of Object.keys(answers))
      saved(`answer-${key}`, ...(key === "days" ? ["days-first", "days-last"] : []));
    await this.step.look({});
    if (!document.activeElement || document.activeElement === document.body)
      (at("questions-title")?.setAttribute("tabindex", "-1"), at("questions-title")?.focus({ preventScroll: true }));
  }
}

const ANSWERS = { yes: "Yes", no: "No" };
const answerTitle = (key, value) =>
  key === "unit" ? (UNITS[value]?.[0] ?? value) : (ROLES[value] ?? ANSWERS[value] ?? value);
