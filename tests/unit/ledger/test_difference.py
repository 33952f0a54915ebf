from __future__ import annotations

from tapveil.ledger.difference import Difference, of_files, of_plans


def names(before: object, after: object) -> list[tuple[str, str | None, str | None]]:
    found = of_plans(before, after)  # type: ignore[arg-type]
    return [(each.name, each.before, each.after) for each in found]


def test_keys_are_compared_not_their_order() -> None:
    assert names({"a": {"b": 1, "c": [1, 2]}}, {"a": {"c": [1, 2], "b": 1}}) == []
    assert names({"a": {"b": 1}}, {"a": {"b": 2, "d": None}}) == [("a.b", "1", "2"), ("a.d", None, "null")]


def test_tables_are_known_by_their_names() -> None:
    on, off = {"name": "on", "epsilon": "1"}, {"name": "off", "epsilon": "1"}
    assert names({"table": [on, off]}, {"table": [off, on | {"epsilon": "2"}]}) == [("table.on.epsilon", '"1"', '"2"')]
    assert names({"table": [on, off]}, {"table": [off, on]}) == [("table", '["on", "off"]', '["off", "on"]')]
    gone = names({"table": [on, off]}, {"table": [on]})
    assert gone == [("table.off.name", '"off"', None), ("table.off.epsilon", '"1"', None)]


def test_no_key_hides_behind_another() -> None:
    """Names of modes are free: one with a dot in it is not a key below another."""
    before = {"location": {"ferry": {"lookup": "a"}, "ferry.lookup": "b"}}
    after = {"location": {"ferry": {"lookup": "b"}, "ferry.lookup": "a"}}
    assert [name for name, *_ in names(before, after)] == ["location.ferry.lookup", 'location."ferry.lookup"']


def test_a_table_twice_is_compared_by_its_place() -> None:
    one, two = {"name": "on", "epsilon": "1"}, {"name": "on", "epsilon": "2"}
    assert len(names({"table": [one, one]}, {"table": [one, two]})) == 1


def test_files_are_compared_by_their_sha256() -> None:
    found = list(of_files({"lookup of ferry": "0", "gtfs": "1"}, {"lookup of ferry": "2", "places": "3"}))
    assert found == [
        Difference("file", "lookup of ferry", "0", "2"),
        Difference("file", "gtfs", "1", None),
        Difference("file", "places", None, "3"),
    ]
