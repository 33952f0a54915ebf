"""THE crossing: exact counts in, published counts out. Nothing else may make a published table.

For every cell that occurs the mechanism draws once; what it does not publish is forgotten here. Of the labels, only
those of published cells are taken along. The order is that of the labels, so it carries nothing.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tapveil.counting.exact import ExactTable
from tapveil.plan import Plan, Table
from tapveil.privacy.noise import RandomBytes
from tapveil.published import Field, PublishedTable


def draw(exact: ExactTable, plan: Plan, table: Table, random_bytes: RandomBytes) -> PublishedTable:
    """One table through its mechanism. Every call spends the table's (ε, δ) again."""
    numbers, published = table.mechanism.draw(exact.counts, random_bytes)
    chosen = np.flatnonzero(published)
    ranked = chosen[np.lexsort([word[chosen] for word in reversed(exact.words)])]
    codes = exact.label_codes(ranked)
    # `take` copies the labels of published cells; a dictionary-coded column would carry all the others along.
    columns = {name: pa.array(exact.labels[name], pa.string()).take(pa.array(codes[name])) for name in codes}
    fields = tuple(Field(name, plan.source.kind(name)) for name in plan.key_columns(table))
    ordered = {field.name: columns[field.name] for field in fields}
    return PublishedTable(table, fields, pa.table({**ordered, "count": pa.array(numbers[ranked], pa.int64())}))
