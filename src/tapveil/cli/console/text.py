"""Sentences and headings, as wide as the screen or as long as a line of a file."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

MOST_OF_A_KIND = 5
"""This many of a kind fit a screen; a file or a program gets all of them."""


def say(console: Console, words: str) -> None:
    """A sentence: broken between words on a screen, and whole in a file."""
    console.print(words, soft_wrap=not console.is_terminal)


def head(console: Console, words: str) -> None:
    """What the next lines are about."""
    console.print()
    console.print(words, style="bold", soft_wrap=not console.is_terminal)


def sentence(words: str) -> str:
    """With a capital, unless it begins with the name of a column, a table or a file."""
    first = words.split(" ")[0]
    return words if "_" in first or "." in first or first.endswith(":") else words[0].upper() + words[1:]


def show_dots(console: Console, lines: Iterable[str]) -> None:
    """Dots, or marks that every terminal has where it has none."""
    try:
        "●○".encode(console.encoding)
        marks: dict[int, int] = {}
    except UnicodeEncodeError:
        marks = str.maketrans("●○", "#.")
    for line in lines:
        console.print(line.translate(marks), markup=False, highlight=False)
