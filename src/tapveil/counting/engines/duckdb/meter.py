"""Bytes of the trip files read so far, for the progress bar.

For CSV the reader knows the number. For Parquet the engine only reports the share of a query that is done, which is
applied to the bytes of the files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress

from tapveil.base.defaults import Format
from tapveil.base.progress import BYTES, Reporter, Stage
from tapveil.trips.csv_reader import Reading
from tapveil.trips.files import TripFiles
from tapveil.trips.parquet_reader import ParquetReading


class Meter:
    """Bytes read in the passes of one stage."""

    def __init__(self, files: TripFiles, share_done: Callable[[], float]) -> None:
        self._share_done = share_done
        self._csv, self._parquet = _size(files, "csv"), _size(files, "parquet")
        self._whole_passes = 0
        self._reading: Sequence[Reading] | None = None

    def stage(self, progress: Reporter, stage: Stage, passes: int = 1) -> AbstractContextManager[None]:
        """A stage in which all files are read `passes` times."""
        self._whole_passes = 0
        return progress.stage(stage, self.done, total=passes * (self._csv + self._parquet), unit=BYTES)

    def begin(self, readings: Sequence[Reading]) -> None:
        """Begin a pass with these readers of the files that the engine does not read itself."""
        self._reading = readings

    def end(self) -> None:
        """End the pass."""
        self._whole_passes, self._reading = self._whole_passes + 1, None

    def done(self) -> float:
        """Bytes read in this stage."""
        reading, before = self._reading, self._whole_passes * (self._csv + self._parquet)
        if reading is None:
            return before
        by_engine = self._parquet and not any(isinstance(each, ParquetReading) for each in reading)
        typed = max(0.0, self._share_done()) * self._parquet if by_engine else 0.0
        return before + sum(each.bytes_read for each in reading) + typed


def _size(files: TripFiles, format: Format) -> int:
    size = 0
    for path in (path for group in files.groups if group.format == format for path in group.paths):
        with suppress(OSError):  # reading it will report the error
            size += path.stat().st_size
    return size
