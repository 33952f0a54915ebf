"""Flow map, matrix and list of whole networks: the demo city, and a real metro where its data are at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.conftest import Opener
from tests.browser.test_page import SIZES, look_with_axe
from tests.browser.test_parts import STILL
from tests.support.networks import VIEWS, network

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=VIEWS)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    folder = network(request.param, tmp_path_factory.mktemp(request.param))
    if folder is None:
        pytest.skip("the real data is not beside this checkout (../shared/data)")
    return request.param, folder


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_and_everything_fits(scheme: str, made: tuple[str, Path], look: Opener) -> None:
    name, folder = made
    views = VIEWS[name]
    looked = look(folder, scheme=scheme, bypass_csp=True)
    looked.page.wait_for_function(STILL)
    look_with_axe(looked, [*views.values(), {**views["map"], "flows": "list"}])
    for width, height in SIZES.values():
        looked.page.set_viewport_size({"width": width, "height": height})
        fits = "(width) => innerWidth === width && document.documentElement.scrollWidth <= width"
        looked.page.wait_for_function(fits, arg=width)
