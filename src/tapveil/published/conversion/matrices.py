"""Origins and destinations as matrices in OMX, which demand models read. Needs h5py."""

from __future__ import annotations

from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tapveil.base.errors import ReaderError
from tapveil.base.vocabulary import COUNT, HIGH, LOW
from tapveil.published.conversion.flows import OFF, ON, flow_table
from tapveil.published.folder import Folder
from tapveil.published.frame import Frame

VERSION = np.bytes_(b"0.2")
"""Of OMX."""


def write_matrices(folder: Folder, path: Path) -> None:
    """Three matrices for each mode over all days: what is listed, and the ends of its interval, if they are known."""
    h5py = _library()
    frame = folder.estimate([ON, OFF]) if folder.manifest.versions.estimates else flow_table(folder)
    zones = sorted({*frame.cells[ON].tolist(), *frame.cells[OFF].tolist()})
    place = {zone: number for number, zone in enumerate(zones)}
    sums = _sums(frame)
    modes = sums.cells["mode"].tolist() if "mode" in sums.keys else ["all"] * len(sums)
    with h5py.File(path, "w", track_order=True, libver="earliest") as file:
        file.attrs["OMX_VERSION"] = VERSION
        file.attrs["SHAPE"] = np.array([len(zones)] * 2, np.int32)
        data, lookup = (file.create_group(name, track_order=True) for name in ("data", "lookup"))
        rows, columns = (np.array([place[each] for each in sums.cells[key].tolist()], np.intp) for key in (ON, OFF))
        for mode in sorted(set(modes)):
            own = np.array([each == mode for each in modes])
            for name, number in (("", "listed"), (" low", LOW), (" high", HIGH)):
                matrix = np.full((len(zones), len(zones)), 0.0 if not name else np.nan)
                column = sums.cells[number if number in sums.columns else COUNT]  # estimates have no others
                matrix[rows[own], columns[own]] = np.ma.filled(column.astype(float), np.nan)[own]
                # In chunks, as OMX asks for; not compressed, as programs differ in how they do it.
                data.create_dataset(f"{mode}{name}".replace("/", "_"), data=matrix, chunks=True, track_times=False)
        # Of one length: readers of OMX know no others.
        lookup.create_dataset("zone", data=np.array([zone.encode() for zone in zones]), track_times=False)


def _sums(frame: Frame) -> Frame:
    """The numbers of all days together; estimates are so already."""
    return frame.sum(by=[key for key in frame.keys if key in ("mode", ON, OFF)]) if frame.adds_up else frame


def same_matrices(one: Path, other: Path) -> bool:
    """Whether two files have the same matrices, zones and statements: another HDF5 may write other bytes."""
    if one.read_bytes() == other.read_bytes():
        return True
    try:
        ours = _contents(one)
        theirs = _contents(other, sum(each.nbytes for each in ours.values()))
    except (OSError, ValueError, KeyError, RuntimeError):  # damaged
        return False
    return ours.keys() == theirs.keys() and all(
        ours[name].dtype == theirs[name].dtype and ours[name].tobytes() == theirs[name].tobytes() for name in ours
    )


def _contents(path: Path, most: float = inf) -> dict[str, npt.NDArray[Any]]:
    """Everything that a file holds, by its path in it; ValueError if it is more than `most` bytes."""
    h5py, found = _library(), dict[str, npt.NDArray[Any]]()

    def gather(name: str, node: Any) -> None:
        if isinstance(node, h5py.Dataset) and node.size * node.dtype.itemsize > most:
            raise ValueError("too large")  # it takes no room on the disk
        found.update({f"{name}@{key}": np.asarray(value) for key, value in node.attrs.items()})
        found[name] = np.asarray(node) if isinstance(node, h5py.Dataset) else np.array(b"group")

    with h5py.File(path) as file:
        gather("/", file)
        file.visititems(gather)
    return found


def _library() -> Any:
    try:
        import h5py
    except ImportError:
        raise ReaderError("h5py is not installed: pip install 'tapveil[omx]'") from None
    return h5py
