"""tapveil: publish public-transport trips as open data under differential privacy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapveil._version import __version__
    from tapveil.bundle import Bundle
    from tapveil.check import outlook
    from tapveil.errors import EngineError, PlanError, TapveilError, TripDataError
    from tapveil.plan import Plan
    from tapveil.publication import release
    from tapveil.reader import open

__all__ = [
    "Bundle",
    "EngineError",
    "Plan",
    "PlanError",
    "TapveilError",
    "TripDataError",
    "__version__",
    "open",
    "outlook",
    "release",
]

_HOME = {
    "Bundle": "bundle",
    "EngineError": "errors",
    "Plan": "plan",
    "PlanError": "errors",
    "TapveilError": "errors",
    "TripDataError": "errors",
    "__version__": "_version",
    "open": "reader",
    "outlook": "check",
    "release": "publication",
}


def __getattr__(name: str) -> Any:
    """Names come from their modules when first used, so that the command line can catch Ctrl-C before it loads them."""
    if name not in _HOME:
        raise AttributeError(f"module 'tapveil' has no attribute {name!r}")
    value = getattr(import_module(f"tapveil.{_HOME[name]}"), name)
    globals()[name] = value
    return value
