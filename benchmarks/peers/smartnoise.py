"""SmartNoise SQL over pandas: each row protected, rare keys censored by the reader."""

from __future__ import annotations

import pandas as pd
import snsql

from benchmarks.peers.job import COLUMNS, DELTA, PART, TABLES, arguments

RENAMED = {"date": "service_date"}
"""`date` is a word of its SQL."""
ASKED_DELTA = DELTA * 2 / 3
"""Its odometer reports half as much again as was asked for: with this, no more than δ."""


def main() -> None:
    source, out = arguments()
    trips = pd.read_parquet(source, columns=list(COLUMNS)).rename(columns=RENAMED)
    for name, (columns, epsilon) in TABLES.items():
        keys = [RENAMED.get(key, key) for key in (*PART, *columns)]
        published(trips, keys, epsilon).to_parquet(out / f"{name}.parquet", index=False)


def published(trips: pd.DataFrame, keys: list[str], epsilon: int) -> pd.DataFrame:
    columns = {name: {"type": "int" if name.endswith("_time") else "string"} for name in trips.columns}
    table = {"row_privacy": True, "censor_dims": True, "rows": len(trips), **columns}
    privacy = snsql.Privacy(epsilon=epsilon, delta=ASKED_DELTA)
    reader = snsql.from_df(trips, privacy=privacy, metadata={"": {"db": {"trips": table}}})
    listed = ", ".join(keys)
    header, *rows = reader.execute(f"SELECT {listed}, COUNT(*) AS n FROM db.trips GROUP BY {listed}")
    return pd.DataFrame(rows, columns=list(header))


if __name__ == "__main__":
    main()
