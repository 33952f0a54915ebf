"""tapveil: publish public-transport trips as open data under differential privacy."""

from tapveil._version import __version__
from tapveil.bundle import Bundle
from tapveil.errors import EngineError, PlanError, TapveilError, TripDataError
from tapveil.plan import Plan
from tapveil.release import release

__all__ = [
    "Bundle",
    "EngineError",
    "Plan",
    "PlanError",
    "TapveilError",
    "TripDataError",
    "__version__",
    "release",
]
