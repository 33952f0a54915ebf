"""A text table for a screen."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console


class Grid:
    """A table with columns as wide as needed, the first left-aligned, the others right-aligned. Never truncated."""

    def __init__(self, *headings: str) -> None:
        self._rows = [headings]

    def add(self, *cells: str) -> None:
        """Add a row."""
        self._rows.append(cells)

    def show(self, console: Console, *, left: bool = False) -> None:
        """Print it; with `left`, all columns are left-aligned."""
        for number, line in enumerate(self.lines(left=left)):
            console.print(line, style="bold" if number == 0 else None)

    def lines(self, *, left: bool = False) -> Iterator[str]:
        """The headings, then each row."""
        widths = [0] * max(map(len, self._rows))
        for row in self._rows:
            widths[: len(row)] = map(max, widths, map(len, row))
        for row in self._rows:
            padded = (
                cell.ljust(width) if left or index == 0 else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=False))
            )
            yield "  ".join(padded).rstrip()
