"""tapveil: publish public-transport trips as open data under differential privacy."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapveil._version import __version__
    from tapveil.base.errors import EngineError, PlanError, TapveilError, TripDataError
    from tapveil.internal.outlook import outlook
    from tapveil.plan.model import Plan
    from tapveil.published.folder import Folder, open
    from tapveil.veil.release import release

__all__ = [
    "EngineError",
    "Folder",
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
    "Folder": "published.folder",
    "EngineError": "base.errors",
    "Plan": "plan.model",
    "PlanError": "base.errors",
    "TapveilError": "base.errors",
    "TripDataError": "base.errors",
    "__version__": "_version",
    "open": "published.folder",
    "outlook": "internal.outlook",
    "release": "veil.release",
}


def __getattr__(name: str) -> Any:
    """Names come from their modules when first used, so that the command line can catch Ctrl-C before it loads them.

    It also keeps `tapveil --help` at 0.1 s of CPU instead of 0.6.
    """
    if name not in _HOME:
        raise AttributeError(f"module 'tapveil' has no attribute {name!r}")
    value = getattr(import_module(f"tapveil.{_HOME[name]}"), name)
    globals()[name] = value
    return value
