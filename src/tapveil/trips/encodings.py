"""Encodings of scripts that are not Latin, told by how common the letters are that bytes would mean in each.

Most bytes of one are letters in another, too, but rare ones. It is a proposal for who knows the export: they are asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain

from tapveil.base.defaults import Encoding
from tapveil.trips.csv_reader import CODECS

COMMON = 0.7
"""The share of common letters from which on an encoding may be the right one."""
FEW = 0.01
"""The share of lines that may be broken."""
FREQUENT, FREQUENTLY = ("оеаинт", "ОЕАИНТ"), 0.3
"""Nearly half of a Cyrillic text is these letters. Any bytes are some of its letters, so that they are will not do."""
LANGUAGES: Mapping[Encoding, str] = {
    "gb18030": "Chinese, simplified; also GBK",
    "big5": "Chinese, traditional",
    "shift-jis": "Japanese",
    "euc-kr": "Korean",
    "windows-1251": "Cyrillic",
}


def _within(codec: str, first: int, last: int) -> Callable[[str], bool]:
    """Whether a letter is among the common ones, which these lead bytes of an older standard have."""

    def is_common(letter: str) -> bool:
        found = letter.encode(codec, "ignore")
        return len(found) == 2 and first <= found[0] <= last

    return is_common


_KANJI = _within("shift_jis", 0x88, 0x97)
_COMMON: Mapping[Encoding, Callable[[str], bool]] = {
    "euc-kr": lambda letter: "가" <= letter <= "힣" and len(letter.encode("euc_kr", "ignore")) == 2,
    "shift-jis": lambda letter: "ぁ" <= letter <= "ヿ" or _KANJI(letter),
    "big5": _within("big5", 0xA4, 0xC6),
    "gb18030": _within("gb2312", 0xB0, 0xD7),
}
"""Korean comes before Chinese: its bytes are common Chinese characters as well, but hardly the other way round."""


def likely(lines: Sequence[bytes]) -> list[Encoding]:
    """The encodings in which lines can be read and have common letters, the likeliest first."""
    beyond = [line for line in lines if not line.isascii()]
    shares = {encoding: _share(beyond, encoding) for encoding in ("windows-1251", *_COMMON)}
    return sorted((each for each, share in shares.items() if share >= COMMON), key=lambda each: -shares[each])


def _share(lines: Sequence[bytes], encoding: Encoding) -> float:
    """The share of common letters among all that are not ASCII; 0 where lines cannot be read."""
    read = [text for line in lines if (text := _read(line, CODECS[encoding])) is not None]
    if len(lines) - len(read) > FEW * len(lines):
        return 0.0
    letters = [letter for letter in chain.from_iterable(read) if letter.isalpha() and not letter.isascii()]
    if encoding == "windows-1251":
        frequent = max(sum(letter in some for letter in letters) for some in FREQUENT)
        return COMMON if letters and frequent >= FREQUENTLY * len(letters) else 0.0
    return sum(map(_COMMON[encoding], letters)) / len(letters) if letters else 0.0


def _read(line: bytes, codec: str) -> str | None:
    try:
        return line.decode(codec)
    except UnicodeDecodeError:
        return None
