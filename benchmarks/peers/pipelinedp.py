"""PipelineDP on its local backend: every trip a privacy id, counted and kept in one step by a Laplace threshold."""

from __future__ import annotations

import pandas as pd
import pipeline_dp
import pyarrow.parquet as pq

from benchmarks.peers.job import COLUMNS, DELTA, PART, TABLES, arguments


def main() -> None:
    source, out = arguments()
    trips = pq.read_table(source, columns=list(COLUMNS)).to_pydict()
    for name, (columns, epsilon) in TABLES.items():
        keys = [*PART, *columns]
        rows = enumerate(zip(*(trips[key] for key in keys), strict=True))
        published(list(rows), epsilon, keys).to_parquet(out / f"{name}.parquet", index=False)


def published(rows: list[tuple[int, tuple[object, ...]]], epsilon: int, keys: list[str]) -> pd.DataFrame:
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    wanted = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.LAPLACE_THRESHOLDING,
        post_aggregation_thresholding=True,  # else ε is divided between choosing cells and counting them
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: row[1],
        value_extractor=lambda row: 0,
    )
    result = engine.aggregate(rows, wanted, extractors)
    accountant.compute_budgets()
    return pd.DataFrame([(*key, metrics.privacy_id_count) for key, metrics in result], columns=[*keys, "n"])


if __name__ == "__main__":
    main()
