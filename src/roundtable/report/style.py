"""The style sheet of a page: light and dark, for phones, large screens and print, with system fonts."""

from __future__ import annotations

import base64
import hashlib
from typing import Final

__all__ = ["POLICY", "STYLE"]

_HUES: Final = (212, 28, 152, 330, 266, 48, 190, 4, 96, 292)
_SEATS: Final = "\n".join(f".s{number} {{ --hue: {hue}; }}" for number, hue in enumerate(_HUES))

STYLE: Final = (
    """
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --ink: #1a222e; --soft: #525d6c; --rule: #dfe3e9; --tint: #eef1f5;
  --accent: #2557c7; --won: #157347; --won-tint: #e4f4ea; --warn: #7d4a00; --warn-tint: #fff3d9;
  --bad: #a3231b; --bad-tint: #fdeae8; --seat-ink: 26%; --seat-tint: 91%; --seat-line: 42%;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1319; --card: #181e27; --ink: #e7ebf1; --soft: #a7b1c0; --rule: #2c3542; --tint: #212936;
    --accent: #8fb4ff; --won: #6fd39c; --won-tint: #15321f; --warn: #f3c56b; --warn-tint: #35290f;
    --bad: #ff9f97; --bad-tint: #3b1a18; --seat-ink: 88%; --seat-tint: 24%; --seat-line: 70%;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-behavior: smooth; }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 1rem/1.6 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif; overflow-wrap: anywhere;
}
main, header, footer { max-width: 66rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.25rem; }
footer { padding-bottom: 2.5rem; color: var(--soft); font-size: .85rem; }
h1, h2, h3 { line-height: 1.25; margin: 0; text-wrap: balance; }
h1 { font-size: clamp(1.4rem, 1.1rem + 1.4vw, 1.9rem); letter-spacing: -.015em; }
h1.long { font-size: 1.25rem; letter-spacing: 0; text-wrap: pretty; }
h2 { font-size: 1.2rem; margin-bottom: .5rem; }
h3 { font-size: 1rem; }
p { margin: .5rem 0; }
p:last-child, ul:last-child { margin-bottom: 0; }
a { color: var(--accent); text-underline-offset: .15em; }
a:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); outline-offset: 3px; border-radius: 4px; }
code { font-family: ui-monospace, "Cascadia Mono", Menlo, Consolas, monospace; font-size: .9em;
  background: var(--tint); border-radius: 4px; padding: .1em .3em; }
pre { background: var(--tint); border-radius: 8px; padding: .75rem; margin: .5rem 0; white-space: pre-wrap; }
pre code { background: none; padding: 0; }
.brand { color: var(--soft); font-size: .8rem; font-weight: 600; letter-spacing: .08em; text-transform: uppercase;
  margin: 0 0 .5rem; }
.about { color: var(--soft); margin: .75rem 0 0; }
nav ul { display: flex; flex-wrap: wrap; gap: .25rem 1.1rem; list-style: none; margin: 1rem 0 0; padding: 0;
  font-size: .9rem; }
section { background: var(--card); border: 1px solid var(--rule); border-radius: 14px; padding: 1rem 1.5rem;
  margin: .75rem 0; }
section.folded { padding: .4rem 1.5rem; margin: .35rem 0; }
section.folded h2 { display: inline; font-size: 1rem; }
section.rounds { background: none; border: 0; padding: .5rem 0 0; }
.alert { background: var(--warn-tint); color: var(--warn); border-radius: 10px; padding: .6rem .9rem;
  margin: .75rem 0 0; }
.alert p { margin: .1rem 0; }
.answer { border-top: 4px solid var(--won); }
.answer.open { border-top-color: var(--warn); }
.answer .said { font-size: clamp(1.3rem, 1rem + 1.6vw, 1.85rem); font-weight: 650; line-height: 1.3;
  margin: .1rem 0 .5rem; }
.answer .said.long { font-size: 1.1rem; font-weight: 600; line-height: 1.45; }
.answer .story { margin: .5rem 0; }
.answer .advice { border-left: 4px solid var(--accent); padding-left: .8rem; }
.soft { color: var(--soft); }
.small { font-size: .875rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: .75rem; margin: .75rem 0 0;
  padding: 0; }
.figures div { background: var(--tint); border-radius: 10px; padding: .5rem .85rem; }
.figures dt { color: var(--soft); font-size: .8rem; }
.figures dd { margin: 0; }
.figures dd.value { font-size: 1.25rem; font-weight: 650; line-height: 1.3; font-variant-numeric: tabular-nums; }
.figures dd.note { color: var(--soft); font-size: .8rem; line-height: 1.4; }
.options { list-style: none; margin: .75rem 0 0; padding: 0; display: grid; gap: .5rem; }
.options .line { display: flex; justify-content: space-between; gap: 1rem; align-items: baseline; }
.options .backers { flex: 1 1 auto; }
.options .score { font-variant-numeric: tabular-nums; font-weight: 600; }
.options .won { color: var(--won); font-weight: 650; }
.options .tied { color: var(--warn); font-weight: 650; }
svg.bar { display: block; width: 100%; height: 8px; margin: .2rem 0; border-radius: 4px; }
figure { margin: 0; }
svg.bar .rest { fill: var(--tint); } svg.bar .part { fill: var(--soft); } svg.bar .won { fill: var(--won); }
svg.bar .tied { fill: var(--warn); } svg.bar .level { fill: var(--accent); }
svg.bar .open { stroke: var(--soft); stroke-width: 2; stroke-dasharray: 2 3; }
svg.stack { display: block; width: 100%; height: 10px; margin: .3rem 0; border-radius: 3px; }
svg.stack rect { fill: hsl(var(--hue) 55% var(--seat-line)); }
svg.chart { display: block; width: 100%; max-width: 40rem; height: auto; margin: 0 auto; }
svg.chart text { fill: var(--soft); font-size: 11px; font-family: inherit; }
svg.chart .grid { stroke: var(--rule); stroke-width: 1; }
svg.chart polyline { fill: none; stroke-linejoin: round; stroke-linecap: round; }
svg.chart polyline.agreement { stroke: var(--accent); stroke-width: 3; }
svg.chart circle.agreement { fill: var(--accent); }
svg.chart line.interval { stroke: var(--accent); stroke-width: 6; stroke-linecap: round; opacity: .35; }
svg.chart line.unknown { stroke: var(--soft); stroke-width: 1.5; stroke-dasharray: 2 4; }
svg.chart polyline.before { stroke: var(--accent); stroke-width: 1.5; stroke-dasharray: 2 4; }
svg.chart circle.before { fill: var(--card); stroke: var(--accent); stroke-width: 2; }
svg.chart polyline.confidence { stroke: var(--soft); stroke-width: 2; stroke-dasharray: 6 4; }
svg.chart circle.confidence { fill: var(--soft); }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; padding: 0; margin: .6rem 0 0;
  font-size: .85rem; color: var(--soft); justify-content: center; }
.legend i { display: inline-block; width: 1.4rem; height: 0; border-top: 3px solid var(--accent);
  vertical-align: middle; margin-right: .4rem; }
.legend i.confidence { border-top: 2px dashed var(--soft); }
.legend i.before { border-top: 2px dotted var(--accent); }
table { width: 100%; border-collapse: collapse; font-size: .9rem; margin-top: .75rem; }
th { text-align: left; font-weight: 600; color: var(--soft); font-size: .8rem; }
thead th { overflow-wrap: normal; }
th, td { padding: .45rem .5rem .45rem 0; border-bottom: 1px solid var(--rule); vertical-align: top; }
tbody tr:last-child > * { border-bottom: 0; }
tbody th { color: var(--ink); font-size: inherit; }
.cost tbody th { min-width: 6.75rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; padding-right: 0; padding-left: .5rem;
  overflow-wrap: normal; }
.rounds > details { background: var(--card); border: 1px solid var(--rule); border-bottom-width: 0; }
.rounds > details:first-of-type { border-radius: 14px 14px 0 0; }
.rounds > details:last-of-type { border-radius: 0 0 14px 14px; border-bottom-width: 1px; }
.rounds > details:only-of-type { border-radius: 14px; }
summary { cursor: pointer; }
.rounds > details > summary { padding: .2rem 1.5rem; font-weight: 650; }
summary .soft { font-weight: 400; }
details.inside > summary { color: var(--accent); font-size: .9rem; padding: .2rem 0; }
details.rest { margin: .2rem 0; }
details.rest > summary .more { color: var(--accent); font-size: .875rem; }
details.rest[open] > summary .excerpt { display: none; }
details.rest > summary::marker { color: var(--accent); }
ins { background: var(--won-tint); color: var(--won); text-decoration-thickness: 1px; }
del { background: var(--bad-tint); color: var(--bad); }
.held { padding: 0 1.5rem 1.25rem; }
article { border-top: 1px solid var(--rule); padding: .6rem 0 0; margin-top: .5rem; scroll-margin-top: 4.5rem; }
article:target { outline: 2px solid var(--accent); outline-offset: 6px; border-radius: 4px; }
article .who { display: flex; flex-wrap: wrap; align-items: center; gap: .35rem .6rem; margin-bottom: .15rem; }
article p { margin: .2rem 0; }
article { line-height: 1.45; }
.rest > summary { font-size: .95rem; }
.seat { flex: none; display: grid; place-items: center; width: 2rem; height: 2rem; border-radius: 50%;
  font-size: .75rem; font-weight: 700; background: var(--tint); color: var(--soft); }
.chip { border-radius: 999px; padding: .1rem .65rem; font-size: .8rem; background: var(--tint); color: var(--ink); }
.chip.bad { background: var(--bad-tint); color: var(--bad); }
.chip.won { background: var(--won-tint); color: var(--won); }
.camp { display: inline-block; min-width: 1.6rem; padding: 0 .35rem; border-radius: .4rem; text-align: center;
  font-weight: 700; background: hsl(var(--hue) 55% var(--seat-tint)); color: hsl(var(--hue) 60% var(--seat-ink)); }
.movement .wide tbody th { overflow-wrap: normal; min-width: 5.5rem; }
.moved { color: var(--warn); font-weight: 600; }
.movement td > .small { display: block; line-height: 1.3; font-size: .8rem; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.wide { overflow-x: auto; position: relative; }
.movement table { margin-top: 0; }
.movement thead th:first-child, .movement tbody th { position: sticky; left: 0; background: var(--card); }
.movement .wide td { min-width: 3.9rem; padding-right: .3rem; white-space: normal; padding-top: .3rem;
  padding-bottom: .3rem; overflow-wrap: normal; }
.camp-list { list-style: none; padding: 0; margin: .75rem 0 0; display: grid; gap: .35rem; }
.columns { list-style: none; padding: 0; margin: 0; display: grid; gap: 1rem 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); }
.columns > li { border-left: 3px solid var(--rule); padding-left: .8rem; min-width: 0; }
.columns ul { padding-left: 1.1rem; margin: .4rem 0 0; }
.columns p { margin: .2rem 0; }
.position { font-weight: 600; line-height: 1.4; font-size: .96rem; }
.reasons ul { padding-left: 1.2rem; margin: .5rem 0; }
.reasons li.numbered { list-style: none; margin-left: -1.2rem; }
.cited { font-size: .9rem; padding-left: 1.2rem; }
.cited li { margin: .3rem 0; }
.claim-list { list-style: none; padding: 0; margin: 0; }
.claim-list > li { border-top: 1px solid var(--rule); padding: .5rem 0; scroll-margin-top: 4.5rem; }
.claim-list > li:target { outline: 2px solid var(--accent); outline-offset: 4px; border-radius: 4px; }
.claim-list .who { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem .6rem; }
.claim-list p { margin: .2rem 0; }
blockquote { margin: .25rem 0 0; padding-left: .8rem; border-left: 3px solid var(--rule); color: var(--soft);
  font-size: .9rem; }
.about-debate { display: grid; grid-template-columns: minmax(7rem, max-content) 1fr; gap: .3rem 1.25rem; margin: 0;
  font-size: .9rem; }
.about-debate dt { color: var(--soft); }
.about-debate dd { margin: 0; }
@media (max-width: 36rem) {
  main, header, footer { padding-left: 1rem; padding-right: 1rem; }
  header { padding-top: 1.5rem; }
  section { padding: 1.1rem 1rem; }
  .rounds > details > summary, .held { padding-left: 1rem; padding-right: 1rem; }
  .figures { grid-template-columns: repeat(2, 1fr); }
  section.folded { padding: .5rem 1rem; }
  .about-debate { grid-template-columns: 1fr; gap: 0; }
  .about-debate dd { margin-bottom: .5rem; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #fff; --card: #fff; --ink: #000; --soft: #444; --rule: #ccc; --tint: #f3f3f3; --accent: #1c469e;
    --won: #0f5a37; --won-tint: #eef7f1; --warn: #6b3f00; --warn-tint: #fdf6e7; --bad: #8c1c15; --bad-tint: #fcefee;
    --seat-ink: 26%; --seat-tint: 91%; --seat-line: 42%;
  }
  body { font-size: 10.5pt; }
  nav { display: none; }
  main, header, footer { max-width: none; padding: 0; }
  section, .rounds > details { border-radius: 0; border-width: 1px 0 0; padding-left: 0; padding-right: 0; }
  .rounds > details > summary, .held { padding-left: 0; padding-right: 0; }
  .who, .figures div, .options li, tr, h2, summary { break-inside: avoid; }
  details::details-content { display: block; content-visibility: visible; height: auto; }
    article:target { outline: 0; }
  @supports selector(::details-content) {
    details.rest > summary { display: none; }
  }
  h2, summary, .who { break-after: avoid; }
  a[href^="http"]::after { content: " (" attr(href) ")"; font-size: .85em; color: var(--soft); }
  .seat, .chip, .camp, .figures div, .alert, svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
    + _SEATS
    + "\n"
)
"""The whole style sheet."""

_DIGEST: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()

POLICY: Final = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'"
"""Content Security Policy of a page: the browser may apply this style sheet, and must not load anything else."""
