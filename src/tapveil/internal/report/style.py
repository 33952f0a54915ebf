"""How the report looks: on a screen, in light and in dark, and on paper."""

from __future__ import annotations

import base64
import hashlib

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1b2530; --pale: #566370; --grid: #dfe4e9; --soft: #f5f7f9; --alarm: #b00020;
  --blue: #0072b2; --orange: #c75000; --green: #007a5a; --on-orange: #ffffff; --on-dark: #1b2530; }
@media screen and (prefers-color-scheme: dark) { :root {
  --paper: #14191f; --ink: #e6ebf0; --pale: #a3afba; --grid: #36414c; --soft: #1c232b; --alarm: #c2183a;
  --blue: #56b4e9; --orange: #ff9248; --green: #3ccfa4; --on-orange: #14191f; --on-dark: #14191f; } }
* { box-sizing: border-box; }
html { scroll-behavior: smooth; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; }
.alarm { background: var(--alarm); color: #ffffff; font-weight: 600; padding: 0.6rem 1.5rem; text-align: center; }
header, main, footer { max-width: 1080px; margin: 0 auto; padding: 0 1.5rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 2rem 0 0.3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.35rem; margin: 3.2rem 0 0.4rem; padding-top: 1.2rem; border-top: 1px solid var(--grid); }
h3 { font-size: 1.02rem; margin: 2rem 0 0.5rem; }
p { max-width: 74ch; margin: 0.5rem 0; }
.pale, footer { color: var(--pale); }
.lead { font-size: 1.08rem; }
nav { margin: 1.2rem 0; display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; font-size: 0.93rem; }
a { color: var(--blue); }
code { font: 0.88em/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
@media (min-width: 700px) { code { white-space: nowrap; } }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 0.8rem; margin: 1.2rem 0; }
.tile { background: var(--soft); border-radius: 10px; padding: 0.9rem 1.1rem; }
.tile b { display: block; font-size: 1.65rem; line-height: 1.25; font-variant-numeric: tabular-nums; }
.tile span { color: var(--pale); font-size: 0.92rem; }
.actions { background: var(--soft); border-left: 5px solid var(--blue); border-radius: 0 10px 10px 0;
  padding: 0.7rem 1.4rem; margin: 1.4rem 0; }
.actions h3 { margin: 0.3rem 0; }
.actions ol { margin: 0.3rem 0; padding-left: 1.2rem; }
.actions li { margin: 0.5rem 0; max-width: 90ch; overflow-wrap: anywhere; }
.caution { border-left: 5px solid var(--orange); padding: 0.1rem 0 0.1rem 1.1rem; }
figure { margin: 1.2rem 0; break-inside: avoid; min-width: 0; }
figcaption { font-weight: 600; margin-bottom: 0.45rem; font-size: 0.95rem; overflow-wrap: anywhere; }
svg { display: block; max-width: 100%; height: auto; }
.plot { overflow-x: auto; }
.plot svg { min-width: 720px; }
svg .deep { fill: var(--on-orange); }
svg .dark { fill: var(--on-dark); }
.panels svg { width: 100%; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(430px, 100%), 1fr)); gap: 0.2rem 2.2rem; }
.key { display: flex; flex-wrap: wrap; gap: 0.2rem 1.4rem; font-size: 0.93rem; color: var(--pale); margin: 0.8rem 0; }
.key :is(.kept, .lost, .law, .tick, .now)::before { content: ""; display: inline-block; width: 0.85em;
  height: 0.85em; margin-right: 0.45em; border-radius: 2px; vertical-align: -0.06em; }
.key .kept::before { background: var(--blue); }
.key .lost::before, .key .law::before { background: var(--orange); }
.key .law::before { height: 3px; vertical-align: 0.25em; }
.key .tick::before { background: var(--ink); width: 3px; }
.key .now::before { background: var(--pale); border-radius: 50%; }
.wide { overflow-x: auto; margin: 1.2rem 0;
  background: linear-gradient(to left, var(--paper) 1.2rem, transparent 2.4rem) right / 2.4rem 100% no-repeat local,
    linear-gradient(to left, var(--grid), transparent) right / 0.9rem 100% no-repeat scroll; }
table { border-collapse: collapse; font-size: 0.92rem; width: 100%; }
caption { text-align: left; font-weight: 600; padding: 0.3rem 0 0.5rem; }
th, td { padding: 0.38rem 0.6rem; border-bottom: 1px solid var(--grid); text-align: left; vertical-align: top; }
thead th { color: var(--pale); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; }
tbody .words { overflow-wrap: break-word; max-width: 24rem; }
td.words { min-width: 11rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
th.number { max-width: 8rem; }
th.short { white-space: nowrap; }
th.long { min-width: 5.2rem; }
@media screen and (max-width: 900px) {
  header, main, footer { padding: 0 1.1rem; } table { font-size: 0.85rem; } th, td { padding: 0.38rem 0.26rem; } }
footer { margin-top: 3rem; padding-bottom: 3rem; font-size: 0.88rem; }
@media print {
  html { font-size: 9pt; } body { font-size: 1rem; } table { font-size: 0.8rem; } th, td { padding: 0.25rem 0.4rem; }
  td.words, th.long { min-width: 0; } nav { display: none; } h2 { break-after: avoid; } tr { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .alarm { position: static; } .wide, .plot { overflow: visible; } .plot svg { min-width: 0; }
}
@page { margin: 14mm; }
"""

_DIGEST = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
"""What a browser may do with the page: show it, in this style, and nothing else."""
