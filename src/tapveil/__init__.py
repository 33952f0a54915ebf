"""Publish public-transport trips as open data under differential privacy.

Publish: `Plan`, `outlook`, `compare`, `audit`, `release`, `Ledger`, `Budget`. Read: `open`, `Folder`, `Series`,
`Frame`, `Estimate`, `Changes`, `Break`. Check: `verify`. The next plan: `tune`, `next_plan`. Every error is a
`TapveilError`. The mathematics is a library of its own, `tapveil.privacy`. docs/reference/api.md has them all.

>>> import tapveil
>>> release = tapveil.open("published")
>>> release.tables
['on_time', 'on_location', 'total']
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tapveil._version import __version__
    from tapveil.base.errors import (
        ApprovalError,
        BudgetError,
        DeliveryError,
        EngineError,
        FolderError,
        InputFileError,
        LeakError,
        LedgerError,
        PlanError,
        ReaderError,
        TapveilError,
        TripDataError,
        UsageError,
    )
    from tapveil.base.findings import Finding, Verification
    from tapveil.internal.audit.attack import AuditResult, audit
    from tapveil.internal.comparison.compare import Comparison, compare
    from tapveil.internal.next_plan import next_plan
    from tapveil.internal.outlook import Outlook, outlook
    from tapveil.ledger.book import Ledger
    from tapveil.ledger.entry import Budget
    from tapveil.plan.model import Plan
    from tapveil.published.folder import Folder
    from tapveil.published.frame import Changes, Estimate, Frame
    from tapveil.published.series.reading import Break, Series, open
    from tapveil.tuning.every_cell import TunedWorld
    from tapveil.tuning.tune import Tuned, tune
    from tapveil.veil.release import release
    from tapveil.verification.verify import verify

__all__ = [
    "ApprovalError",
    "AuditResult",
    "Break",
    "Budget",
    "BudgetError",
    "Changes",
    "Comparison",
    "DeliveryError",
    "EngineError",
    "Estimate",
    "Finding",
    "Folder",
    "FolderError",
    "Frame",
    "InputFileError",
    "LeakError",
    "Ledger",
    "LedgerError",
    "Outlook",
    "Plan",
    "PlanError",
    "ReaderError",
    "Series",
    "TapveilError",
    "TripDataError",
    "Tuned",
    "TunedWorld",
    "UsageError",
    "Verification",
    "__version__",
    "audit",
    "compare",
    "next_plan",
    "open",
    "outlook",
    "release",
    "tune",
    "verify",
]

_HOME = {
    "_version": ["__version__"],
    "base.errors": [name for name in __all__ if name.endswith("Error")],
    "base.findings": ["Finding", "Verification"],
    "internal.audit.attack": ["AuditResult", "audit"],
    "internal.comparison.compare": ["Comparison", "compare"],
    "internal.next_plan": ["next_plan"],
    "internal.outlook": ["Outlook", "outlook"],
    "ledger.book": ["Ledger"],
    "ledger.entry": ["Budget"],
    "plan.model": ["Plan"],
    "published.folder": ["Folder"],
    "published.frame": ["Changes", "Estimate", "Frame"],
    "published.series.reading": ["Break", "Series", "open"],
    "tuning.every_cell": ["TunedWorld"],
    "tuning.tune": ["Tuned", "tune"],
    "veil.release": ["release"],
    "verification.verify": ["verify"],
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}


def __getattr__(name: str) -> Any:
    """Names come from their modules when first used, so that the command line can catch Ctrl-C before it loads them.

    It also keeps `tapveil --help` at 0.1 s of CPU instead of 0.6.
    """
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'tapveil' has no attribute {name!r}")
    try:
        value = getattr(import_module(f"tapveil.{_MODULE_OF[name]}"), name)
    except ModuleNotFoundError as error:  # installed for reading alone
        raise ModuleNotFoundError(
            f"tapveil.{name} needs {error.name}: pip install 'tapveil[publish]'", name=error.name
        ) from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
