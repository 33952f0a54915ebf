"""The public inputs of a plan: lookups, areas, places, lists of cells and the timetable, from one snapshot.

Made once for a command and passed to everything that needs a public list; nothing else opens one. Each part is read
on demand, and small ones are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tapveil.base.errors import InputFileError
from tapveil.base.shape import Shape
from tapveil.inputs.areas import Areas, Stops, read_areas, read_stops, read_wider
from tapveil.inputs.calendars import Calendars, read_calendars, read_holidays
from tapveil.inputs.cell_list import Dictionaries, read_dictionaries
from tapveil.inputs.map import read_places
from tapveil.inputs.public_totals import lists_of, read_totals, refuse_unmet
from tapveil.inputs.shapes import read_place_facts, read_shapes
from tapveil.inputs.snapshot import Snapshot
from tapveil.inputs.world import Places, listed_places, with_listed_places, world_cells
from tapveil.plan.model import TIMETABLE, GivenTotal, Plan

if TYPE_CHECKING:
    from tapveil.inputs.gtfs import Feed
    from tapveil.inputs.timetable import Timetable


@dataclass(frozen=True)
class PublicInputs:
    """The contents of the public files of a plan."""

    plan: Plan
    snapshot: Snapshot

    @classmethod
    def of(cls, plan: Plan, scratch: Path | None = None) -> PublicInputs:
        """The public files of a plan as they are now; large ones are kept on the scratch disk."""
        return cls(plan, Snapshot(scratch))

    def seen_by(self, plan: Plan) -> PublicInputs:
        """The same snapshot of files, for another plan."""
        return self if plan is self.plan else PublicInputs(plan, self.snapshot)

    @cached_property
    def areas(self) -> Areas:
        """The published areas of stops."""
        areas = replace(read_areas(self.plan, self.snapshot), calendars=self.calendars)
        return with_listed_places(self.plan, areas, self.snapshot) if self.plan.privacy.is_world else areas

    @cached_property
    def calendars(self) -> Calendars:
        """The label of each day, by column."""
        return read_calendars(self.plan, self.snapshot)

    @cached_property
    def holidays(self) -> tuple[date, ...]:
        """The days of a known world that are taken to be like Sundays."""
        return read_holidays(self.plan, self.snapshot)

    @cached_property
    def shapes(self) -> Mapping[str, Shape]:
        """The shapes that tables are written in as well, by name."""
        return read_shapes(self.plan, self.snapshot)

    def place_facts(self, fields: Mapping[str, bool]) -> dict[tuple[str, str], tuple[str, ...]]:
        """What public lists say of places, in the order of these fields: as far as shapes write it."""
        return read_place_facts(self.plan, self.snapshot, self.places, fields) if fields else {}

    @cached_property
    def totals(self) -> tuple[GivenTotal, ...]:
        """The exact totals that are public anyway; PlanError where estimates could not add up to them."""
        found = read_totals(self.plan, self.snapshot)
        if found and self.plan.privacy.is_world:
            refuse_unmet(found, lists_of(self.plan, self.world, self.calendars))
        return found

    @cached_property
    def wider(self) -> Mapping[str, Areas]:
        """The wider areas of published places, by the name of the level."""
        return read_wider(self.plan, self.snapshot)

    @cached_property
    def world(self) -> Places:
        """All places that tables of a known world can have."""
        return listed_places(self.plan, self.areas)

    @cached_property
    def dictionaries(self) -> Dictionaries:
        """The list of all possible cells of each table."""
        if self.plan.privacy.is_world:
            return world_cells(self.plan, self.world, self.calendars)
        return read_dictionaries(self.plan, self.snapshot, self.wider, self._timetable, self.calendars)

    # Stops, shapes and the timetable may take more memory than all else. They are needed before and after counting, and
    # not while it goes on, so they are made again from the same bytes.

    @property
    def stops(self) -> Stops:
        """The stops of the timetable; empty without one."""
        return read_stops(self.plan, self.snapshot)

    @property
    def feed(self) -> Feed | None:
        """The timetable."""
        from tapveil.inputs.gtfs import read_feed  # most plans have none

        return read_feed(self.plan.base / self.plan.gtfs.path, self.snapshot) if self.plan.gtfs else None

    @property
    def places(self) -> dict[str, Any] | None:
        """The places of the map, as GeoJSON; None where they are not known."""
        areas = self.areas if self.plan.gtfs else Areas({})
        return read_places(self.plan, self.snapshot, areas)

    def _timetable(self) -> Timetable:
        from tapveil.inputs.timetable import Timetable  # most plans have none

        areas, feed = self.areas, self.feed
        if feed is None:
            raise AssertionError("a plan without a timetable")
        return Timetable(self.plan, areas, feed)

    @cached_property
    def sha256(self) -> Mapping[str, str]:
        """SHA-256 of each public file, by its role in the plan."""
        _ = (
            self.areas,
            self.wider,
            self.calendars,
            self.holidays,
            self.shapes,
            self.totals,
        )  # their errors about a lookup are clearer than those of its bytes
        try:
            return {role: self.snapshot.sha256(self.plan.base / name) for role, name in _names(self.plan).items()}
        except OSError as error:
            raise InputFileError(f"{error.filename} cannot be read: {error.strerror}") from None


def _names(plan: Plan) -> dict[str, str]:
    """The public files of a plan, by their role."""
    areas, wider = plan.coarsen.location.items(), plan.coarsen.wider
    used = [name for name in wider if name in {table.level.location for table in plan.table}]
    return {
        **{f"lookup of {mode}": area.lookup for mode, area in areas if area.lookup},
        **{f"lookup of {name} of {mode}": area.lookup for name in used for mode, area in wider[name].items()},
        **{f"polygons of {mode}": area.polygons for mode, area in areas if area.polygons},
        **{f"cells of {table.name}": table.cells for table in plan.table if table.cells and table.cells != TIMETABLE},
        **{f"calendar of {name}": each.lookup for name, each in plan.columns.calendars.items() if each.lookup},
        **({"holidays": plan.world.holiday_list} if plan.world.holiday_list else {}),
        **({"gtfs": plan.gtfs.path} if plan.gtfs else {}),
        **({"places": plan.places.path} if plan.places else {}),
        **({"totals": plan.public.totals} if plan.public.totals else {}),
    }
