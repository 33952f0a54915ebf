"""Long work, one piece at a time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tapveil.base.errors import TripDataError
from tapveil.base.progress import Reporter, Stage
from tapveil.studio.jobs import Jobs


def run(jobs: Jobs) -> None:
    jobs.end()
    jobs.run()


def test_work_is_done_in_order_and_told() -> None:
    told: list[Mapping[str, Any]] = []
    jobs = Jobs(told.append)

    def work(progress: Reporter) -> Mapping[str, Any]:
        with progress.stage(Stage.COUNTING_TRIPS, lambda: 1, total=4):
            assert jobs.all[0].share == 0.25
        print("to the page alone", file=sys.stderr)
        return {"found": 1}

    first = jobs.start("count", work, must_finish=True)
    run(jobs)
    assert first.state == "done"
    assert first.result == {"found": 1, "said": ["to the page alone"]}
    assert first.stages == ["Counting trips"]
    assert [each["job"]["state"] for each in told][-1] == "done"


def test_an_error_of_ours_is_said_and_any_other_is_not() -> None:
    jobs = Jobs(lambda event: None)

    def refuses(progress: Reporter) -> Mapping[str, Any]:
        raise TripDataError("no trips")

    def breaks(progress: Reporter) -> Mapping[str, Any]:
        raise ValueError("card 4711 of Alice")

    ours, other = (jobs.start("check", work, must_finish=True) for work in (refuses, breaks))
    run(jobs)
    assert ours.error == {"kind": "TripData", "message": "no trips"}
    assert other.state == "failed"
    assert "Alice" not in str(other.as_json)


def test_a_cancelled_job_is_interrupted_where_it_is_and_the_next_one_is_done() -> None:
    jobs = Jobs(lambda event: None)
    begun = threading.Event()

    def waits(progress: Reporter) -> Mapping[str, Any]:
        begun.set()
        while True:  # a signal that comes just before a sleep does not shorten it
            time.sleep(0.05)

    long, waiting, next_one = (
        jobs.start("count", waits),
        jobs.start("count", waits, must_finish=True),
        jobs.start("check", lambda progress: {}, must_finish=True),
    )
    jobs.cancel(waiting)

    def stop() -> None:
        begun.wait()
        jobs.cancel(long)

    threading.Thread(target=stop).start()
    jobs._waiting.put(None)
    jobs.run()
    assert [each.state for each in (long, waiting, next_one)] == ["cancelled", "cancelled", "done"]


def test_an_interrupt_of_the_terminal_ends_it() -> None:
    jobs = Jobs(lambda event: None)

    def interrupted(progress: Reporter) -> Mapping[str, Any]:
        raise KeyboardInterrupt("Interrupted. Nothing was charged.")

    job = jobs.start("release", interrupted, must_finish=True)
    with pytest.raises(KeyboardInterrupt):
        jobs.run()
    assert job.state == "cancelled"


def test_at_the_end_only_what_must_be_finished_is_done() -> None:
    jobs = Jobs(lambda event: None)
    count = jobs.start("count", lambda progress: {})
    release = jobs.start("release", lambda progress: {}, must_finish=True)
    run(jobs)
    assert (count.state, release.state) == ("cancelled", "done")
