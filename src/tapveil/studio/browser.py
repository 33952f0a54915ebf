"""The way in: a file that only its owner can read, which the browser opens and which sends the token.

A token on a command line could be read by every user of the machine (`ps`), and one in an address would stay in the
browser's history. The file is deleted as soon as it was used.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_FILE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>tapveil studio</title>
</head><body><form method="post" action="http://{host}/enter"><input type="hidden" name="token" value="{token}">
<noscript><button>Open the studio</button></noscript></form><script>document.forms[0].submit()</script></body></html>
"""


@contextmanager
def entry_file(host: str, token: str) -> Iterator[Path]:
    """The file, in a folder of its own, as long as the context lasts or until it is used."""
    folder = Path(tempfile.mkdtemp())  # mode 0700
    try:
        path = folder / "enter.html"
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(_FILE.format(host=host, token=token))
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def open_browser(path: Path) -> bool:
    """Whether a browser was started; its command line has the name of the file, and no secret."""
    try:
        return webbrowser.open(path.as_uri())
    except (OSError, webbrowser.Error):
        return False
