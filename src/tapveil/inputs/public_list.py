"""A public file of a plan: opened with clear errors, and read as CSV where it is a list.

It holds nothing of the trips, so messages may quote it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tapveil.base.csv_header import found_delimiter
from tapveil.base.errors import InputFileError, did_you_mean
from tapveil.inputs.snapshot import PublicFiles


@dataclass(frozen=True)
class PublicList:
    """A public file, and its name in messages."""

    files: PublicFiles
    path: Path
    what: str
    section: str = ""
    """The section of the plan that names it."""

    @contextmanager
    def opened(self) -> Iterator[TextIO]:
        """Open the file as UTF-8 text."""
        called = f"{self.what} {self.path.name}"
        try:
            with io.TextIOWrapper(self.files.open(self.path), encoding="utf-8-sig", newline="") as file:
                yield file
        except FileNotFoundError:
            hint = f" ({self.section}; paths are relative to the plan)" if self.section else ""
            raise InputFileError(f"there is no {self.what} {self.path}{hint}") from None
        except IsADirectoryError:
            raise InputFileError(f"the {called} is a folder; choose a file in it") from None
        except PermissionError:
            raise InputFileError(f"no permission to read the {called}") from None
        except OSError as error:
            raise InputFileError(f"the {called} cannot be read: {error.strerror}") from None

    def rows(
        self, needed: Sequence[str], optional: Sequence[str] = (), delimiter: str | None = None
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """The line and the columns of each row, stripped; empty where a row is too short."""
        try:
            with self.opened() as file:
                wanted = (*needed, *optional)
                delimiter = delimiter or found_delimiter(file.readline(), wanted)
                file.seek(0)
                rows = csv.reader(file, delimiter=delimiter, skipinitialspace=True)
                header = [name.strip() for name in next(rows, [])]
                self._require(needed, wanted, header)
                places = {column: header.index(column) for column in wanted if column in header}
                for row in filter(None, rows):
                    row += [""] * (len(header) - len(row))
                    yield rows.line_num, {column: row[place].strip() for column, place in places.items()}
        except (UnicodeDecodeError, csv.Error):
            raise InputFileError(
                f"the {self.what} {self.path.name} is not a CSV file in UTF-8; save it as one"
            ) from None

    def _require(self, needed: Sequence[str], wanted: Sequence[str], header: Sequence[str]) -> None:
        for column in wanted:
            if column in needed and column not in header:
                others = [name for name in header if name not in wanted]
                hint = did_you_mean(column, others) or f" (columns: {', '.join(header)})"
                raise InputFileError(f"the {self.what} {self.path.name} has no column `{column}`{hint}")
            if (times := header.count(column)) > 1:
                raise InputFileError(f"the {self.what} {self.path.name} has {times} columns named `{column}`; keep one")
