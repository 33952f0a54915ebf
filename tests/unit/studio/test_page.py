"""The page that one browser gets."""

from __future__ import annotations

import re

from tapveil.studio.page import page, shown_policy


def test_the_page_is_whole_and_loads_nothing() -> None:
    html, policy = page("KEY-1", "RESUME-1", 'my "folder" <x>')
    assert "{{" not in re.sub(r"<script.*?</script>|<style.*?</style>", "", html, flags=re.DOTALL)
    assert 'data-key="KEY-1"' in html
    assert 'data-resume="RESUME-1"' in html
    assert "my &quot;folder&quot; &lt;x&gt;" in html
    assert not re.search(r"<script[^>]* src=|<link[^>]*stylesheet", html)
    assert not re.search(r"""(?:src|href|action)\s*=\s*["']?(?:https?:)?//|url\(\s*["']?(?!data:|#)|@import""", html)
    named = set(re.findall(r"https?://([\w-]+(?:\.[\w-]+)*)", html))
    assert named <= {"www.w3.org", "data.example.org"}, "a namespace, and an example of an address"
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce
    assert set(re.findall(r'<(?:script|style)[^>]*nonce="([^"]+)"', html)) == {nonce[1]}
    assert html.count("<script") == html.count('<script nonce="')


def test_each_page_has_a_nonce_of_its_own() -> None:
    assert page("k", "r", "f")[1] != page("k", "r", "f")[1]


def test_the_policy_allows_nothing_but_ourselves() -> None:
    _, policy = page("k", "r", "f")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["connect-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert rules["form-action"] == "'none'"
    assert "unsafe" not in policy


def test_what_is_shown_in_a_frame_has_an_origin_of_its_own() -> None:
    for near in ("", "http://127.0.0.1:1/show/x/explorer/"):
        policy = shown_policy(near)
        assert policy.startswith("sandbox allow-scripts")
        assert "allow-same-origin" not in policy
        assert "connect-src" not in policy
        assert "default-src 'none'" in policy
        assert f"script-src 'unsafe-inline' {near}".strip() + ";" in policy
