"""A portal: who it is, how it is asked, and in which order. It writes requests and reads answers, and sends nothing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tapveil.delivery.client import Secret, secret_from, sound_address
from tapveil.delivery.notice import Notice
from tapveil.delivery.parcel import Parcel
from tapveil.delivery.request import Conversation


class Portal(ABC):
    """One portal, at its address."""

    name: ClassVar[str]
    """What it is called in commands and in the ledger."""
    variable: ClassVar[str]
    """The environment variable with the credentials."""
    header: ClassVar[str]
    """The header that they are sent in."""
    home: ClassVar[str | None] = None
    """Where it is, if there is one only."""

    def __init__(self, address: str, owner: str | None = None) -> None:
        self.address = sound_address(address)
        self.owner = owner
        """The organisation, as the portal knows it."""

    @property
    def secret(self) -> Secret:
        return secret_from(self.variable, self.header, self.written)

    def written(self, credentials: str) -> str:
        """Credentials as the header has them."""
        return credentials

    @classmethod
    @abstractmethod
    def found(cls, address: str) -> tuple[Portal, str]:
        """The portal, and the name of the data set there, of an address that a push ended with."""

    @abstractmethod
    def push(self, parcel: Parcel, checked: set[str]) -> Conversation:
        """Look at what is there, do what is missing, and make it visible last.

        `checked` grows by each file that was found to be as it should be: it is kept when a conversation begins again.
        """

    @abstractmethod
    def withdraw(self, parcel: Parcel, notice: Notice, *, hide: bool) -> Conversation:
        """Mark a release as withdrawn, and hide it if asked. What is marked already is left as it is."""
