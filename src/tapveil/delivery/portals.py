"""The portals that a release can be delivered to, by name."""

from __future__ import annotations

from tapveil.base.errors import UsageError, did_you_mean
from tapveil.delivery.ckan import Ckan
from tapveil.delivery.datagouv import Datagouv
from tapveil.delivery.opendatasoft import Opendatasoft
from tapveil.delivery.portal import Portal
from tapveil.delivery.socrata import Socrata

PORTALS: dict[str, type[Portal]] = {each.name: each for each in (Ckan, Datagouv, Opendatasoft, Socrata)}


def portal(name: str, address: str | None, owner: str | None = None) -> Portal:
    """A portal at its address; UsageError if there is no such portal, or no address."""
    if name not in PORTALS:
        hint = did_you_mean(name, PORTALS) or f" (portals: {', '.join(PORTALS)})"
        raise UsageError(f"there is no portal `{name}`{hint}")
    kind = PORTALS[name]
    if not (address or kind.home):
        raise UsageError(f"name the address of the portal: --to https://…, where {name} is")
    return kind(address or kind.home or "", owner)
