"""How a report's page looks: on a screen by day and by night, and on paper."""

from __future__ import annotations

PAGE_STYLE = """
:root { color-scheme: light dark; --ground: #fff; --text: #1a1e24; --muted: #565f6c; --line: #e1e4e9;
  --fits: #157347; --tight: #8a5a00; --over: #b93815; }
@media (prefers-color-scheme: dark) { :root { --ground: #1b1e23; --text: #e8ebef; --muted: #a6afbb; --line: #363c46;
  --fits: #5fcb93; --tight: #e8b64a; --over: #ff8b6b; } }
@media print { :root { color-scheme: light; --ground: #fff; --text: #1a1e24; --muted: #565f6c; --line: #e1e4e9;
  --fits: #157347; --tight: #8a5a00; --over: #b93815; }
  svg, tr, dl { break-inside: avoid; } h2, h3 { break-after: avoid; } section + section { break-before: page; } }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; background: var(--ground); color: var(--text);
  font: 15px/1.5 system-ui, sans-serif; font-variant-numeric: tabular-nums; print-color-adjust: exact;
  -webkit-print-color-adjust: exact; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.25rem; margin-top: 2.5rem; } h3 { font-size: 1rem; margin: 1.6rem 0 .4rem; }
.notes { white-space: pre-wrap; color: var(--muted); }
.verdict { font-size: 1.1rem; } .verdict strong { margin-right: .4em; }
.fits strong { color: var(--fits); } .tight strong { color: var(--tight); } .does_not_fit strong { color: var(--over); }
svg { width: 100%; height: auto; font-size: 12px; }
svg text:not([fill]) { fill: var(--text); } svg .peak { font-weight: 600; }
.part { stroke: var(--text); stroke-width: 1; } .over { fill: none; stroke: var(--over); stroke-width: 2; }
.usable { stroke: var(--text); stroke-width: 2; stroke-dasharray: 5 3; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1rem; }
dt { color: var(--muted); } dd { margin: 0; }
table { border-collapse: collapse; width: 100%; } th { color: var(--muted); font-weight: 500; text-align: left; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
.figure { text-align: right; white-space: nowrap; }
.swatch { display: inline-block; width: .7em; height: .7em; margin-right: .5em; outline: 1px solid var(--text); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1.2rem; margin-top: .3rem; color: var(--muted);
  font-size: .85rem; }
.beyond { outline: 2px solid var(--over); }
.kin { background-image: repeating-linear-gradient(135deg, #000 0 1px, transparent 1px 4px); }
footer { margin-top: 3rem; color: var(--muted); font-size: .85rem; }
"""
