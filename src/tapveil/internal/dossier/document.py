"""The whole document: seven parts from templates, which make one text; every format is made from that."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from tapveil._version import __version__
from tapveil.base.svg import printable
from tapveil.internal import explain
from tapveil.internal.dossier import docx, markup, page
from tapveil.internal.dossier.case import Case, Intruder, Tried
from tapveil.internal.dossier.figures import BELIEFS, SIZES, figures, people_of_account, together
from tapveil.internal.dossier.hazards import MET, NOTE, YOURS, hazards, states
from tapveil.internal.dossier.labels import label
from tapveil.internal.dossier.markup import Figure, Source, fact_mark, figure_mark
from tapveil.internal.dossier.questions import Kept, asked, catalogue, compared, facts, titles
from tapveil.internal.intruder.result import ATTACKS
from tapveil.internal.intruder.words import KNOWS, STRENGTH
from tapveil.ledger import words as ledger_words
from tapveil.ledger.accounts import Account
from tapveil.ledger.approval import Approval, fingerprint
from tapveil.ledger.entry import (
    Accepted,
    Approved,
    Budget,
    Delivered,
    Officers,
    Published,
    Scheduled,
    Spend,
    Start,
    Withdrawn,
)
from tapveil.privacy.attacker import Attacker
from tapveil.privacy.rational import decimal_text
from tapveil.privacy.units import Neighbours
from tapveil.published.describe.frequencies import Panel
from tapveil.published.describe.wording import COUNTED, LOOKED, UNIT_NAMES, WORDING, change, loss_in_words, wording

PARTS = ("cover", "promise", "nist", "law", "rest")
"""Each is a template."""
WHICH: dict[Neighbours, str] = {"add-remove": "Whether it was there", "replace": "Which it was"}
"""What somebody wonders."""
SOURCES = {"ledger": "ledger", "account": "ledger", "intruder": "intruder test", "audit": "audit"}
"""What a dossier may be given, by the first words of its figures."""
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
        found = figures(self.case)
        state = list(states(self.case).values())
        counted = {
            "questions.asked": len(self.asked),
            "questions.open": len(self.open),
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
    def open(self) -> list[str]:
        """What nobody answered yet."""
        return [key for key in self.asked if key not in self.kept.answers]

    @property
    def changes(self) -> list[str]:
        """The figures that are other ones than in the dossier before, or new; but those of a source that is new."""
        before, now = self.kept.last_figures, compared(self.figures)
        others = {key for key in {**before, **now} if before.get(key) != now.get(key)} if before else set()
        whole = {each for sources in self.changed_sources for each in sources}
        return [
            key
            for key in {**before, **now}
            if key in others and not key.startswith("questions.") and _source(key) not in whole
        ]

    @property
    def changed_sources(self) -> tuple[list[str], list[str]]:
        """What this dossier was given and the one before was not, and the other way round."""
        before, now = ({_source(key) for key in each} for each in (self.kept.last_figures, self.figures))
        given = dict.fromkeys(SOURCES.values()) if self.kept.last_figures else ()
        return [e for e in given if e in now - before], [e for e in given if e in before - now]

    @property
    def changed_questions(self) -> tuple[list[str], list[str]]:
        """What was open in the dossier before and is not any more, and what is open now and was not."""
        before, now = self.kept.last_open, self.open
        if before is None:
            return [], []
        return [each for each in before if each not in now], [each for each in now if each not in before]

    @property
    def changed_facts(self) -> list[tuple[str, str, str]]:
        """What is another one than in the dossier before and no figure: what it is, how it was, and how it is."""
        before, now = self.kept.last_facts, facts(self.case)
        both = {**before, **now} if before else {}
        return [(key, before.get(key, "–"), now.get(key, "–")) for key in both if before.get(key) != now.get(key)]

    @property
    def html(self) -> str:
        """One page, which a browser shows and prints, and nothing else."""
        unit = self.case.manifest.unit
        pictures: dict[str, str] = {
            neighbours: explain.picture(found, unit, _title(found)) for neighbours, found in self.case.attackers.items()
        }
        return page.to_html(self._source, self._title, self.figures, pictures, CLASSES)

    @property
    def pictures(self) -> Mapping[str, tuple[str, tuple[Panel, ...]]]:
        """What is drawn, by the name of the picture, each with its title."""
        unit, attackers = self.case.manifest.unit, self.case.attackers
        return {which: (_title(found), explain.panels(found, unit)) for which, found in attackers.items()}

    @property
    def docx(self) -> bytes:
        """The same for word processors."""
        return docx.to_docx(self._source, self._title, self.case.on, self.figures, self.pictures, CLASSES)

    @property
    def markdown(self) -> str:
        """The same for any reader of Markdown; its pictures are made of text."""
        return markup.to_markdown(self._source, self.figures, self.pictures)

    @property
    def _title(self) -> str:
        return printable(f"Privacy dossier: {self.case.manifest.title}")

    @cached_property
    def _source(self) -> str:
        return "\n\n".join(_environment().get_template(f"{part}.md.j2").render(self._known) for part in PARTS)

    def _several(self, key: str, noun: str) -> Source:
        """A figure, and of what it is the number."""
        return Source(f"{figure_mark(key)} {_plural(noun, self.figures[key].value)}")

    def _people(self, account: Account) -> list[str]:
        """The rows of a person in an account, by the names of their figures; a year is in part 1, if it has one."""
        return [key for key in people_of_account(account) if not (self.case.people and key.startswith("year."))]

    @property
    def _known(self) -> Mapping[str, Any]:
        case, manifest = self.case, self.case.manifest
        noise = dict.fromkeys(wording(WORDING).noise[table.noise] for table in manifest.tables)
        return {
            **{"manifest": manifest, "folder": case.folder, "key": case.key, "checksums": case.checksums},
            **{"attackers": case.attackers, "figures": self.figures, "f": figure_mark, "n": self._several},
            **{
                "today": case.on.isoformat(),
                "ledger": case.entries is not None,
                "confidential": case.entries is not None,
            },
            **{"recorded": case.is_recorded, "accounts_with": case.accounts_with},
            **{"accounts": case.accounts, "ledger_people": self._people, "ledger_rows": list(_rows(case))},
            **{"audit": case.audit, "attacks": _attacks(case.intruder)},
            **{
                "intruder": case.intruder,
                "strength": STRENGTH,
                "hazards": hazards(),
                "states": states(case),
                "asked": self.asked,
            },
            **{
                "catalogue": {key: Source(each) for key, each in catalogue().items()},
                "titles": {key: Source(each) for key, each in titles().items()},
                "answers": self.kept.answers,
                "answers_file": self.answers_file,
            },
            **{"changed_facts": self.changed_facts},
            **{"changed_sources": self.changed_sources, "changed_questions": self.changed_questions},
            **{"changes": self.changes, "last_on": self.kept.last_on, "label": label, "software": __version__},
            **{"neighbours": case.neighbours, "guarantees": case.guarantees, "loss": case.loss, "meant": case.meant},
            **{"gaussian": case.gaussian, "whole_cards": case.whole_cards, "together": together(case)},
            **{
                "person_epsilon": "replaced" if manifest.totals else "epsilon",
                "made_from": "published counts, public lists and public totals"
                if manifest.totals
                else "published counts and public lists",
            },
            **{"counts_most": case.plan is not None and case.plan.source.most_per_row is not None},
            **{"unit": UNIT_NAMES[manifest.unit], "counted": COUNTED[manifest.unit], "noise": list(noise)},
            **{"looked": LOOKED[manifest.looked_at_trips], "worth": _worth(case)},
            **{"which": WHICH, "change": lambda neighbours: change(manifest.unit, neighbours)},
            **{"change_of": lambda budget: change(budget.unit, budget.neighbours)},
            **{"case_of": lambda neighbours: explain.headings(case.attackers[neighbours], manifest.unit)},
            **{"people": case.people, "beliefs": [decimal_text(100 * each, 3) for each in BELIEFS]},
            **{"areas_listed": bool(manifest.places or manifest.is_world)},
            **{"approval": case.approval, "officers": list(map(fingerprint, case.officers))},
            **{"breakdowns": case.detail, "index": case.index, "sizes": list(map(str, SIZES))},
            "columns_read": case.plan and ", ".join(dict.fromkeys(case.plan.columns.named.values())),
        }


def _title(found: Attacker) -> str:
    """Of a picture."""
    return f"{WHICH[found.neighbours]}: a {found.verdict} promise"


def _source(key: str) -> str | None:
    """What a figure is known from, where that is given or not."""
    return SOURCES.get(key.partition(".")[0])


def _worth(case: Case) -> str:
    """Where a reader finds what a smaller unit means for a person."""
    if case.people:
        return "Part 1 states what that is worth for a person."
    stated = "Part 1 states what that is worth for a card with several trips; " if case.whole_cards else ""
    said = f"{stated}nothing is stated for a person, because no days are named."
    return said[0].upper() + said[1:]


def _attacks(found: Intruder | None) -> list[tuple[str, str, list[tuple[str, Tried]]]]:
    """Each attack, what the intruder knows, and the ways to publish by the names of their figures."""
    numbered = [(f"intruder.{number}", each) for number, each in enumerate(found.results if found else ())]
    by_attack = {attack: [pair for pair in numbered if pair[1].attack == attack] for attack in ATTACKS}
    return [(attack, KNOWS[attack], tried) for attack, tried in by_attack.items() if tried]


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
            case Officers():
                whose, why = " or ".join(map(fingerprint, entry.keys)), f"{entry.by}: {entry.reason}"
                which = "approval required" if entry.keys else "approval no longer required"
                yield Row(on, which, whose, "", why if entry.reason else "")
            case Approved():
                stated = Approval(entry.statement, entry.signature).statement
                said = f"{stated.by or 'the officer'}: {stated.comment}" if stated.comment else stated.by or ""
                yield Row(on, f"approval {stated.id[:8]}", f"until {stated.until}", "", said)
            case Start():
                yield Row(on, f"start of the ledger {entry.ledger[:8]}")
            case Published():
                continue


FORMATS: Mapping[str, Callable[[Dossier], bytes]] = {
    ".html": lambda dossier: dossier.html.encode(),
    ".md": lambda dossier: dossier.markdown.encode(),
    ".docx": lambda dossier: dossier.docx,
}
"""The contents of a file, by the ending of its name."""


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
