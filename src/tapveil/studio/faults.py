"""What went wrong, for the page: our own errors in their words; of any other, only that there was one."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from tapveil.base.errors import ApprovalError, TapveilError, UsageError


class ChangedError(UsageError):
    """The file was changed by somebody else since the page read it."""


class ExistsError(UsageError):
    """There is such a file already."""


class NeedsConsentError(UsageError):
    """Nothing is wrong, but somebody has to say that it is meant: `code` says what."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def as_json(error: Exception) -> dict[str, Any]:
    """An error as the page shows it. What an unexpected one says may hold a value of a trip: it stays here."""
    if isinstance(error, NeedsConsentError | ApprovalError):
        return {"kind": type(error).__name__.removesuffix("Error"), "code": error.code, "message": str(error)}
    if isinstance(error, TapveilError):
        return {"kind": type(error).__name__.removesuffix("Error"), "message": str(error)}
    return {
        "kind": "Fault",
        "message": f"An unexpected error occurred ({type(error).__name__}). Details are not shown because they may "
        "contain private values.",
    }


def status_of(error: Exception) -> HTTPStatus:
    """The status of an answer that says it."""
    if isinstance(error, ChangedError | ExistsError):
        return HTTPStatus.CONFLICT
    return HTTPStatus.UNPROCESSABLE_ENTITY if isinstance(error, TapveilError) else HTTPStatus.INTERNAL_SERVER_ERROR
