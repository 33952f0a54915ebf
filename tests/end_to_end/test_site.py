"""The documentation as a site: it builds without a warning, every link leads somewhere, and a browser asks nobody."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = ["-q", "-E", "-W", "-n", "--keep-going"]
FETCHED = re.compile(
    r"""<(?:link|script|img|iframe|source|video|object)\b[^>]*(?:href|src|data)\s*=\s*["']?(?:https?:)?//[^>]*>"""
    r"""|url\(\s*["']?(?:https?:)?//[^)]*\)|@import\s+["'](?:https?:)?//[^;]*;|importScripts\(["']https?:[^)]*\)"""
)
"""What a browser would ask a network for; links to click on are no such thing."""


def build(source: Path, site: Path) -> subprocess.CompletedProcess[str]:
    folders = ["-d", str(site.with_suffix(".doctrees")), "-b", "html", str(source), str(site)]
    command = [sys.executable, "-m", "sphinx", *FLAGS, *folders]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)


def test_the_site_builds_and_a_browser_asks_nobody_for_anything(tmp_path: Path) -> None:
    done = build(ROOT / "docs", tmp_path / "site")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / "index.html").exists()
    for path in (tmp_path / "site").rglob("*"):
        if path.suffix in {".html", ".css", ".js", ".svg"}:
            found = FETCHED.search(path.read_text(encoding="utf-8"))
            assert found is None, f"{path.name}: {found[0]}"


def test_make_builds_it_as_this_test_does() -> None:
    assert f"sphinx {' '.join(FLAGS)} " in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("link", ["nowhere.md", "other.md#nowhere", "picture.png"])
def test_a_link_that_leads_nowhere_fails(link: str, tmp_path: Path) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    (source / "conf.py").write_text('extensions = ["myst_parser"]\nmyst_heading_anchors = 4\n', encoding="utf-8")
    mark = "!" if link.endswith("png") else ""
    toctree = "```{toctree}\nother\n```\n"
    (source / "index.md").write_text(f"# Front\n{mark}[words]({link})\n\n{toctree}", encoding="utf-8")
    (source / "other.md").write_text("# Other\n## Somewhere\n", encoding="utf-8")
    assert build(source, tmp_path / "site").returncode == 1


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://example.org/a.js"></script>',
        "<link rel=stylesheet href='//example.org/a.css'>",
        '<img alt="" src="http://example.org/a.png">',
        "@import 'https://example.org/a.css';",
        "src: url(https://example.org/a.woff2)",
    ],
)
def test_what_a_browser_would_fetch_is_seen(text: str) -> None:
    assert FETCHED.search(text)
    assert not FETCHED.search('<a href="https://example.org">a link to click on</a> <img src="_images/a.png">')


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_from_outside_the_site_lead_to_files(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8"))
    lost = {link for link in links if "://" not in link and not (ROOT / link).exists()}
    assert not lost
