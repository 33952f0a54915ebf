"""The words by which columns and their values are known, from a list in many languages (`words.toml`).

A name is taken apart into its words; what they say are concepts of the field: a start, a time, a place, a card.
"""

from __future__ import annotations

import itertools
import re
import tomllib
import unicodedata
from functools import lru_cache
from importlib import resources
from typing import Any

_LISTS: dict[str, Any] = tomllib.loads((resources.files("tapveil.trips") / "words.toml").read_text(encoding="utf-8"))
_VALUES: dict[str, dict[str, str]] = _LISTS.pop("values")
_PLAIN = str.maketrans("ıøłđ", "iold")
_JOINED = re.compile("[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that leave no blank between words."""


def plain(text: str) -> str:
    """A text in small letters, without the accents of Latin ones.

    >>> plain("Einstiegs-Straße"), plain("Entrée"), plain("Durağı"), plain("時刻")
    ('einstiegs-strasse', 'entree', 'duragi', '時刻')
    """
    folded = text.casefold().translate(_PLAIN)
    return "".join(_base(character) for character in folded if unicodedata.category(character) != "Mn")


def _base(character: str) -> str:
    first = unicodedata.normalize("NFD", character)[0]
    return first if first.isascii() else character


def words_of(name: str) -> frozenset[str]:
    """The words of a column's name, in small letters; two that are one are both.

    >>> sorted(words_of("EntTimeHHMM")), sorted(words_of("Start Station Name"))
    (['ent', 'enttime', 'hhmm', 'time', 'timehhmm'], ['name', 'start', 'startstation', 'station', 'stationname'])
    """
    parts = re.findall(r"[^\W\d_]+|\d+", re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name))
    small = [plain(part) for part in parts]
    return frozenset([*small, *(one + two for one, two in itertools.pairwise(small))])


@lru_cache(maxsize=4096)
def concepts(name: str) -> frozenset[str]:
    """What the words of a name say.

    >>> sorted(concepts("Einstiegshaltestelle")), sorted(concepts("乗車日時")), sorted(concepts("ORIGIN_PT_CODE"))
    (['place', 'start'], ['day', 'start', 'time'], ['identifier', 'place', 'start'])
    >>> sorted(concepts("number_of_passenger")), sorted(concepts("반납대여소명")), sorted(concepts("대여일시"))
    (['count'], ['end', 'name', 'place'], ['day', 'start', 'time'])
    """
    words, whole = words_of(name), plain(name)
    found = {concept for concept in _LISTS if any(_says(words, whole, word) for word in _split(concept))}
    for end in found & {"start", "end"}:  # a place may be called after what is begun there: 대여소 has 대여 in it
        rest = whole
        for place in _split("place"):
            rest = rest.replace(place, " ") if _JOINED.search(place) and any(w in place for w in _split(end)) else rest
        if not any(_says(words, rest, word) for word in _split(end)):
            found.discard(end)
    if {"name", "place"} <= found:  # in Spanish a name, in French a number: nombre
        found.discard("count")
    if "amount" in found and not found & {"other", "place"}:
        found = (found | {"count"}) - {"identifier", "card"}
    return frozenset(found - {"amount"})


@lru_cache
def _split(concept: str) -> tuple[str, ...]:
    return tuple(word for language in _LISTS[concept].values() for word in language.split())


def _says(words: frozenset[str], whole: str, word: str) -> bool:
    if _JOINED.search(word):
        return word in whole
    if word.endswith("-"):
        return any(each.startswith(word[:-1]) for each in words)
    if word.startswith("-"):
        return any(each.endswith(word[1:]) and each != word[1:] for each in words)
    return word in words


@lru_cache
def values(meaning: str) -> frozenset[str]:
    """The values that mean something: `on`, `off`, `bound`; and, as they are written, `missing`."""
    listed = (word for language in _VALUES[meaning].values() for word in language.split("|"))
    return frozenset(listed if meaning == "missing" else map(said, listed))


def said(value: str) -> str:
    """A value as the lists have it: without accents, with blanks for hyphens and underscores.

    >>> said("Check-In"), said("Entrée ")
    ('check in', 'entree')
    """
    return re.sub(r"[-_\s]+", " ", plain(value.strip())).strip()
