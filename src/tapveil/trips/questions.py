"""Questions about an export: what it does not tell, and the answer that is likeliest."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

OPEN = "?"
"""The answer to a question that nobody has answered."""


YES_OR_NO = ("yes", "no")


@dataclass(frozen=True)
class Question:
    """What cannot be told from the files, and the answer that is likeliest."""

    key: str
    """What it is about: `shape`, `on`, one of our columns, or `format` and one of them."""
    text: str
    proposal: str = OPEN
    choices: tuple[str, ...] = ()
    """The answers that there are; none where any text will do."""
    must: bool = True
    """Whether there is no plan without an answer; else what is proposed stands in it, for somebody to decide."""
    like: str = ""
    """What an answer looks like, where there are no choices and not any text will do."""
    fits: Callable[[str], bool] = field(default=lambda _: True, compare=False)
    """Whether a text is such an answer."""


@dataclass
class Asking:
    """What was asked of one export, and what was answered."""

    answers: Mapping[str, str]
    assumed: bool = False
    """Whether nobody was asked, and what is proposed was taken."""
    questions: list[Question] = field(default_factory=list)

    def ask(self, key: str, text: str, proposal: str = OPEN, choices: Sequence[str] = (), *, must: bool = True) -> str:
        """The answer to a question; what is proposed, where nobody has answered."""
        self.questions.append(Question(key, text, proposal, tuple(choices), must))
        return proposal if self.is_open(key) else self.answers[key]

    def is_open(self, key: str) -> bool:
        """Whether nobody has answered."""
        return self.answers.get(key, OPEN) == OPEN

    @property
    def why(self) -> str:
        """Why an answer is taken."""
        return "assumed with --yes, not asked" if self.assumed else "so you said"

    def why_of(self, key: str) -> str:
        """Why an answer, or what is proposed, is taken."""
        return "proposed: you decide" if self.is_open(key) else self.why
