"""The whole document: seven parts from templates, as HTML that has no script and loads nothing, or as Markdown."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from tapveil._version import __version__
from tapveil.internal import explain
from tapveil.internal.dossier import markup
from tapveil.internal.dossier.case import Case
from tapveil.internal.dossier.figures import BELIEFS, Figure, detail, figures, people_of_account
from tapveil.internal.dossier.hazards import MET, NOTE, YOURS, hazards, states
from tapveil.internal.dossier.markup import Source, fact_mark, figure_mark
from tapveil.internal.dossier.questions import Kept, asked, catalogue
from tapveil.internal.svg import ON_PAPER
from tapveil.ledger import words as ledger_words
from tapveil.ledger.accounts import Account
from tapveil.ledger.entry import Accepted, Budget, Delivered, Published, Scheduled, Spend, Start, Withdrawn
from tapveil.privacy.rational import decimal_text
from tapveil.published.describe.wording import COUNTED, LOOKED, UNIT_NAMES, WORDING, change, loss_in_words, wording

PARTS = ("cover", "promise", "nist", "law", "rest")
"""Each is a template."""
CLASSES: dict[str, str] = {MET: "met", NOTE: "note", YOURS: "yours"}


@dataclass(frozen=True)
class Row:
    """An entry of the ledger."""

    on: str
    what: str
    covers: str = ""
    status: str = ""
    why: str = ""


@dataclass(frozen=True)
class Dossier:
    """A dossier of a case, with the answers that there are."""

    case: Case
    kept: Kept = field(default_factory=Kept)
    answers_file: str = "plan.dossier.toml"

    @cached_property
    def figures(self) -> dict[str, Figure]:
        """Every figure that it may show."""
        found, open_questions = figures(self.case), [key for key in self.asked if key not in self.kept.answers]
        state = list(states(self.case).values())
        counted = {
            "questions.asked": len(self.asked),
            "questions.open": len(open_questions),
            "nist.met": state.count(MET),
            "nist.note": state.count(NOTE),
            "nist.yours": state.count(YOURS),
        }
        found |= {key: Figure(f"{number:,}", number) for key, number in counted.items()}
        return found | {f"was.{key}": Figure(text, text) for key, text in self.kept.last_figures.items()}

    @cached_property
    def asked(self) -> list[str]:
        return asked(self.case)

    @property
    def changes(self) -> list[str]:
        """The figures that are other ones than in the dossier before."""
        before = self.kept.last_figures
        return [
            key
            for key, text in before.items()
            if not key.startswith("questions.") and (key not in self.figures or self.figures[key].text != text)
        ]

    @property
    def html(self) -> str:
        """One page, which a browser shows and prints, and nothing else."""
        pictures: dict[str, str] = {
            neighbours: explain.picture(found, self.case.manifest.unit, f"A {found.verdict} promise", ON_PAPER)
            for neighbours, found in self.case.attackers.items()
        }
        style = _resource("style.css")
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
        title = escape(f"Privacy dossier: {self.case.manifest.title}")
        return (
            '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{style}</style></head>\n<body><main>\n"
            f"{markup.to_html(self._source, self.figures, pictures, CLASSES)}\n</main></body></html>\n"
        )

    @property
    def markdown(self) -> str:
        """The same for any reader of Markdown; the pictures are said in words."""
        return markup.to_markdown(self._source, self.figures)

    @cached_property
    def _source(self) -> str:
        return "\n\n".join(_environment().get_template(f"{part}.md.j2").render(self._known) for part in PARTS)

    def _several(self, key: str, noun: str) -> Source:
        """A figure, and of what it is the number."""
        return Source(f"{figure_mark(key)} {_plural(noun, self.figures[key].value)}")

    @property
    def _known(self) -> Mapping[str, Any]:
        case, manifest = self.case, self.case.manifest
        by_mode = detail(case)
        noise = dict.fromkeys(wording(WORDING).noise[table.noise] for table in manifest.tables)
        return {
            **{"manifest": manifest, "folder": case.folder, "key": case.key, "checksums": case.checksums},
            **{"attackers": case.attackers, "figures": self.figures, "f": figure_mark, "n": self._several},
            **{
                "today": case.on.isoformat(),
                "ledger": case.entries is not None,
                "confidential": case.entries is not None,
            },
            **{"accounts": case.accounts, "ledger_people": _people, "ledger_rows": list(_rows(case))},
            **{"audit": case.audit, "audit_broken": any(each.broken for each in case.audit or ())},
            **{"intruder": case.intruder, "hazards": hazards(), "states": states(case), "asked": self.asked},
            **{"catalogue": catalogue(), "answers": self.kept.answers, "answers_file": self.answers_file},
            **{"changes": self.changes, "last_on": self.kept.last_on, "label": _label, "software": __version__},
            **{"unit": UNIT_NAMES[manifest.unit], "counted": COUNTED[manifest.unit], "noise": list(noise)},
            **{"looked": LOOKED[manifest.looked_at_trips], "NOT_A_PROMISE": explain.NOT_A_PROMISE},
            **{"change": lambda neighbours: change(manifest.unit, neighbours)},
            **{"change_of": lambda budget: change(budget.unit, budget.neighbours)},
            **{"case_of": lambda neighbours: explain.headings(case.attackers[neighbours], manifest.unit)},
            **{"verdicts": {word: wording(WORDING).say(f"verdict.{word}") for word in _VERDICTS}},
            **{"people": case.people, "beliefs": [decimal_text(100 * each, 3) for each in BELIEFS]},
            **{"detail": by_mode, "modes": sorted({mode for _, mode in by_mode})},
            "columns_read": case.plan and ", ".join(dict.fromkeys(case.plan.columns.named.values())),
        }


_VERDICTS = ("strong", "moderate", "weak", "none")


def _label(key: str) -> str:
    return key.replace(".", ", ").replace("_", " ")


def _people(account: Account) -> list[str]:
    """The rows of a person in an account, by the names of their figures."""
    return list(people_of_account(account))


def _plural(noun: str, number: object) -> str:
    return noun if number == 1 else f"{noun}s"


def _rows(case: Case) -> Iterator[Row]:
    status = {spend.id: "not finished" for spend in case.unfinished}
    status |= {entry.id: "withdrawn" for entry in case.entries or () if isinstance(entry, Withdrawn)}
    for entry in case.entries or ():
        on = entry.on.isoformat()
        match entry:
            case Spend():
                days = ledger_words.days(entry.first_day, entry.last_day)
                covers = ", ".join([days, *(entry.modes or ("all modes",))])
                which = f"release {ledger_words.release(entry)}"
                yield Row(on, which, covers, status.get(entry.id, "published"))
            case Budget():
                why = f"{entry.by}: {entry.reason}" if entry.reason else ""
                yield Row(on, f"budget: {loss_in_words(entry.loss)}", f"{entry.data_set}, {entry.unit}", "", why)
            case Scheduled():
                which = f"schedule of {entry.releases} {_plural('release', entry.releases)}"
                yield Row(on, which, f"{entry.days} {_plural('day', entry.days)} each")
            case Accepted():
                yield Row(on, f"accepted the ledger {entry.ledger[:8]}", "", "", f"{entry.by}: {entry.reason}")
            case Delivered():
                yield Row(on, f"delivered {entry.id[:8]}", entry.address)
            case Withdrawn():
                yield Row(on, f"withdrew {entry.id[:8]}", "", "", f"{entry.by}: {entry.reason}")
            case Start():
                yield Row(on, f"start of the ledger {entry.ledger[:8]}")
            case Published():
                continue


def written(dossier: Dossier, path: Path) -> str:
    """The text for a file, by its ending."""
    return dossier.markdown if path.suffix == ".md" else dossier.html


@lru_cache
def _environment() -> Environment:
    """What a template prints is a mark: for a figure, or for words that are only shown. A number is neither."""
    made = Environment(  # noqa: S701  what it writes is Markdown; everything that it prints is a mark
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_printed,
        loader=FunctionLoader(lambda name: _resource(f"templates/{name}")),
    )
    made.filters |= {"id": Source, "words": _key_in_words, "one_line": lambda text: Source(" ".join(text.split()))}
    return made


def _printed(value: object) -> str:
    if isinstance(value, Source):
        return value
    if isinstance(value, str):
        return fact_mark(value) if value else value
    raise TypeError(f"a dossier shows numbers as figures, each with its name: {value!r}")


def _key_in_words(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _resource(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
