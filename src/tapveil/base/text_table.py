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
        for row in self._rows:
            cells = (self._padded(index, cell, left or index == 0) for index, cell in enumerate(row))
            yield "  ".join(cells).rstrip()

    def _padded(self, index: int, cell: str, left: bool) -> str:
        width = max(len(row[index]) for row in self._rows if index < len(row))
        return cell.ljust(width) if left else cell.rjust(width)
