"""The floor of reading: PyArrow reads the six columns, dictionary-coded. Nothing is counted."""

from __future__ import annotations

import pyarrow.parquet as pq

from benchmarks.peers.job import COLUMNS, arguments


def main() -> None:
    source, _ = arguments()
    texts = [column for column in COLUMNS if not column.endswith("_time")]
    with pq.ParquetFile(source, read_dictionary=texts) as file:
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=list(COLUMNS))


if __name__ == "__main__":
    main()
