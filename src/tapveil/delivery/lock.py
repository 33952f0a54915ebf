"""The lock of a folder while it is delivered or withdrawn."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tapveil.base.errors import DeliveryError


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Only one process at a time delivers or withdraws a folder; the system ends the lock with the process."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise DeliveryError(
            f"another process is delivering or withdrawing {folder} right now: wait until it ends"
        ) from None
    finally:
        os.close(descriptor)
