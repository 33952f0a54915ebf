"""Validations and profiles of the rail network (Île-de-France Mobilités, "Historique des données de validation").

By its description: JOUR is the day, as DD/MM/YYYY; NB_VALD the number of validations, or the words "Moins de 5"; a
profile has the share of each hour of a kind of day, in per cent; TRNC_HORR_60 is such as 7H-8H, or ND.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

STOP = ["CODE_STIF_TRNS", "CODE_STIF_RES", "CODE_STIF_ARRET", "LIBELLE_ARRET", "ID_ZDC"]


def validations(path: Path) -> pd.DataFrame:
    """Validations by day, stop and fare class; what is masked counts as nothing, as nobody knows how much it is."""
    found = pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)
    if list(found.columns) != ["JOUR", *STOP, "CATEGORIE_TITRE", "NB_VALD"]:
        raise ValueError(f"unexpected columns: {list(found.columns)}")
    found = found[found.NB_VALD != "Moins de 5"]
    return found.assign(JOUR=pd.to_datetime(found.JOUR, format="%d/%m/%Y"), NB_VALD=found.NB_VALD.astype(int))


def profiles(path: Path) -> pd.DataFrame:
    """The share of each hour, by stop and kind of day: rows add up to one."""
    found = pd.read_csv(path, sep=";", dtype=str, keep_default_na=False)
    if list(found.columns) != [*STOP, "CAT_JOUR", "TRNC_HORR_60", "pourc_validations"]:
        raise ValueError(f"unexpected columns: {list(found.columns)}")
    found = found[found.TRNC_HORR_60 != "ND"]
    hour = found.TRNC_HORR_60.str.extract(r"^(\d+)H-\d+H$")[0].astype(int)
    share = found.pourc_validations.str.replace(",", ".").astype(float) / 100
    return found.assign(HEURE=hour, PART=share).pivot_table(
        index=["CODE_STIF_ARRET", "CAT_JOUR"], columns="HEURE", values="PART", fill_value=0.0
    )
