"""Synthetic trips as TIDES `fare_transactions`: a row for each tap, so that programs which read taps read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tapveil.base.vocabulary import MINUTES_PER_DAY, MISSING, UNKNOWN
from tapveil.published.manifest import Manifest

SCHEMA = pa.schema(
    {
        "transaction_id": pa.string(),
        "service_date": pa.date32(),
        "event_timestamp": pa.timestamp("s"),
        "amount": pa.float64(),
        "fare_action": pa.string(),
        "stop_id": pa.string(),
        "num_riders": pa.int64(),
        "fare_capped": pa.bool_(),
        "token_id": pa.string(),
    }
)
"""What TIDES requires, and what of the rest a synthetic trip has; nobody paid for it, so its amount is 0."""
_ENDS = (("Enter", "tap_on_time", "tap_on_location"), ("Exit", "tap_off_time", "tap_off_location"))


def fare_transactions(manifest: Manifest, trips: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Both taps of each trip, one after the other; a trip has a token of its own, which its two taps share.

    An end without a tap has no row. An end whose time was not measured has the time of the other end.
    """
    before = 0
    for batch in trips:
        yield _taps(manifest, batch, before)
        before += len(batch)


def _taps(manifest: Manifest, trips: pa.RecordBatch, before: int) -> pa.RecordBatch:
    names, size = set(trips.schema.names), len(trips)
    numbers = np.arange(before + 1, before + size + 1)
    tokens = pc.binary_join_element_wise("synthetic", pa.array(numbers).cast(pa.string()), "-")
    days = trips.column("date").cast(pa.date32())
    ends = []
    for action, time, place in _ENDS:
        own = [column for column in (time, place) if column in names]
        if not own:
            continue
        known = time if time in names else next(column for _, column, _ in _ENDS if column in names)
        minutes = _minutes(manifest, trips.column(known))
        taps = np.logical_or.reduce([_is_tap(trips.column(column)) for column in own]) & (minutes >= 0)
        stops = trips.column(place) if place in names else pa.nulls(size, pa.string())
        columns: dict[str, Any] = {
            "transaction_id": pc.binary_join_element_wise(tokens, action.lower(), "-"),
            "service_date": days,
            "event_timestamp": _moments(days, minutes),
            "amount": np.zeros(size),
            "fare_action": pa.repeat(action, size),
            "stop_id": pc.if_else(pc.equal(stops, UNKNOWN), pa.scalar(None, pa.string()), stops),
            "num_riders": np.ones(size, dtype=np.int64),
            "fare_capped": pa.repeat(False, size),
            "token_id": tokens,
        }
        ends.append(pa.table(columns, schema=SCHEMA).append_column("at", pa.array(numbers)).filter(pa.array(taps)))
    both = pa.concat_tables(ends).sort_by([("at", "ascending"), ("fare_action", "ascending")])
    return pa.RecordBatch.from_arrays([both.column(name).combine_chunks() for name in SCHEMA.names], schema=SCHEMA)


def _is_tap(values: pa.Array) -> npt.NDArray[np.bool_]:
    nothing = pc.is_in(values, pa.array([MISSING, UNKNOWN]))
    return ~np.asarray(nothing.to_numpy(zero_copy_only=False))


def _minutes(manifest: Manifest, times: pa.Array) -> npt.NDArray[np.int64]:
    """From midnight of the service date on; hours before a day starts are those of the next morning; -1 for no tap."""
    coded = times.dictionary_encode()
    found = []
    for label in coded.dictionary.to_pylist():
        minute = -1 if label == MISSING else int(label[:2]) * 60 + int(label[3:])
        found.append(minute + MINUTES_PER_DAY if 0 <= minute < manifest.day.starts else minute)
    places: npt.NDArray[np.int64] = coded.indices.to_numpy()
    return np.array(found, dtype=np.int64)[places]


def _moments(days: pa.Array, minutes: npt.NDArray[np.int64]) -> pa.Array:
    midnights = days.cast(pa.int32()).to_numpy().astype(np.int64) * MINUTES_PER_DAY
    return pa.array((midnights + minutes) * 60).cast(pa.timestamp("s"))
