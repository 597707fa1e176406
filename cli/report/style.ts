/** The style sheet of the page: it follows the theme of the system, has its own fonts and loads nothing. */
export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #fbfaf8; --card: #ffffff; --text: #23272b; --soft: #5b636b; --line: #e3e0da; --accent: #2a6f97;
  --good: #1f6b3a; --good-tile: #d5ecd9; --warn: #6e4b00; --warn-tile: #fbe3a6; --bad: #b3261e; --bad-tile: #b3261e;
  --on-bad: #ffffff; --quiet-tile: #eceae5; --focus: #0b57d0; --shade: rgb(20 24 28 / 45%);
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14171a; --card: #1c2024; --text: #e8e6e1; --soft: #a4adb5; --line: #31373d; --accent: #7cc0e8;
    --good: #8fdba6; --good-tile: #1e4530; --warn: #ffd978; --warn-tile: #56420f; --bad: #ff9a90; --bad-tile: #f2776b;
    --on-bad: #2a0603; --quiet-tile: #2a3036; --focus: #9cc4ff; --shade: rgb(0 0 0 / 65%);
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
main, footer { max-width: 1160px; margin: 0 auto; padding: 0 clamp(16px, 3vw, 32px); }
header { padding: clamp(24px, 5vw, 48px) 0 8px; }
header p { margin: 4px 0 0; color: var(--soft); }
h1 { margin: 0; font-size: clamp(1.5rem, 4vw, 2.25rem); line-height: 1.2; letter-spacing: -0.015em; text-wrap: balance; }
h1 .mark { display: inline-grid; place-items: center; width: 1.25em; height: 1.25em; margin-right: 0.3em; border-radius: 50%; font-size: 0.8em; vertical-align: 0.08em; }
h1.good .mark { background: var(--good-tile); color: var(--good); }
h1.bad .mark { background: var(--bad-tile); color: var(--on-bad); }
h1.open .mark { background: var(--quiet-tile); color: var(--text); }
h2 { margin: 40px 0 12px; font-size: 1.125rem; }
h3 { margin: 16px 0 4px; font-size: 1rem; color: var(--bad); }
a { color: inherit; text-underline-offset: 3px; text-decoration-color: var(--soft); }
:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.hint { margin: -8px 0 12px; color: var(--soft); font-size: 0.875rem; }
.skip { position: absolute; left: 16px; top: -60px; padding: 8px 16px; background: var(--card); }
.skip:focus { top: 8px; }
.scroll { position: relative; overflow-x: auto; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
.scroll.nights { direction: rtl; }
.scroll.nights table { direction: ltr; }
table { width: 100%; border-collapse: collapse; }
caption { padding: 12px 16px 4px; text-align: left; color: var(--soft); font-size: 0.875rem; }
.list th, .list td { padding: 8px 16px; text-align: left; border-top: 1px solid var(--line); white-space: nowrap; }
.list thead th { border: 0; color: var(--soft); font-size: 0.8125rem; font-weight: 500; }
.list tbody th { font-weight: 600; }
.list .number { text-align: right; font-variant-numeric: tabular-nums; }
.list .usual { color: var(--soft); }
.sign { display: inline-block; width: 1.25em; font-weight: 700; }
tr.published .sign { color: var(--good); } tr.warned .sign { color: var(--warn); }
:is(tr.failed, tr.quarantined, tr.withoutTable, tr.notStarted, tr.late, tr.withoutRule) td:nth-child(2) { color: var(--bad); font-weight: 600; }
.grid { border-spacing: 0; }
.grid th, .grid td { padding: 2px; text-align: center; font-weight: 500; }
.grid thead th { color: var(--soft); font-size: 0.75rem; font-variant-numeric: tabular-nums; }
.grid .months th { padding: 8px 4px 0; text-align: left; }
.grid thead .last { color: var(--text); font-weight: 700; }
.grid tr > :first-child { position: sticky; left: 0; z-index: 1; background: var(--card); }
.grid tbody th { padding: 2px 12px 2px 16px; text-align: left; white-space: nowrap; font-size: 0.875rem; }
.grid tbody tr:last-child > * { padding-bottom: 12px; }
.grid td:last-child { padding-right: 12px; }
.list small, .grid small { color: var(--soft); }
.cell { display: grid; place-items: center; width: 100%; min-width: 22px; padding: 0; height: 26px; border-radius: 6px; font-size: 0.8125rem; font-weight: 700; text-decoration: none; }
.cell.published { background: var(--good-tile); color: var(--good); }
.cell.warned { background: var(--warn-tile); color: var(--warn); }
.cell.failed, .cell.quarantined, .cell.withoutTable { background: var(--bad-tile); color: var(--on-bad); }
:is(.cell.notStarted, .cell.late, .cell.withoutRule) { box-shadow: inset 0 0 0 2px var(--bad); color: var(--bad); }
.cell.running { background: var(--quiet-tile); color: var(--text); }
.cell.due, .cell.paused, .cell.off { background: var(--quiet-tile); color: var(--soft); }
button.cell:hover { filter: brightness(0.94); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 20px; margin: 12px 0 0; padding: 0; list-style: none; color: var(--soft); font-size: 0.875rem; }
.legend li { display: flex; align-items: center; gap: 8px; }
.legend .cell { width: 22px; height: 22px; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 240px), 1fr)); gap: 16px; }
figure { margin: 0; padding: 12px 12px 4px; border: 1px solid var(--line); border-radius: 12px; background: var(--card); }
figcaption { display: grid; font-size: 0.875rem; }
figcaption span { color: var(--soft); font-size: 0.8125rem; }
.plot { display: block; width: 100%; height: auto; color: var(--soft); }
.plot text, .plot tspan { white-space: pre; }
button { border: 0; background: none; color: inherit; font: inherit; cursor: pointer; }
.name { padding: 0; font-weight: inherit; text-decoration: underline var(--soft); text-underline-offset: 3px; }
[popover] { width: min(680px, 100vw - 32px); max-height: calc(100vh - 32px); overflow: auto; padding: 20px 24px; border: 1px solid var(--line); border-radius: 16px; background: var(--card); color: var(--text); }
[popover]::backdrop { background: var(--shade); }
[popover] h2 { margin: 0; outline: none; }
[popover] p { overflow-wrap: anywhere; }
.outcome-line { display: flex; align-items: center; gap: 10px; }
.outcome-line .cell { width: 26px; }
.warning { padding: 8px 12px; border-radius: 8px; background: var(--warn-tile); color: var(--warn); }
dl { margin: 0; } dl div { display: grid; grid-template-columns: minmax(0, 9em) minmax(0, 1fr); gap: 12px; padding: 5px 0; border-top: 1px solid var(--line); }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
code { padding: 1px 5px; border-radius: 4px; background: var(--quiet-tile); font: 0.875em ui-monospace, monospace; overflow-wrap: anywhere; }
.small, footer { color: var(--soft); font-size: 0.875rem; }
.close { display: inline-block; padding: 6px 18px; border: 1px solid var(--line); border-radius: 8px; }
footer { padding-top: 24px; padding-bottom: 48px; }
@media (max-width: 560px) {
  .list th, .list td { padding: 8px; font-size: 0.875rem; } .narrow-off { display: none; }
  .list td:nth-child(2) { white-space: normal; overflow-wrap: break-word; }
  dl div { grid-template-columns: minmax(0, 1fr); gap: 0; }
}
@media (forced-colors: active) { .cell { border: 1px solid; } }
@page { size: A4; margin: 12mm; }
@media print {
  * { print-color-adjust: exact; }
  body { background: none; font-size: 13px; }
  main, footer { padding: 0 1px; }
  .skip, .close, .hint { display: none; }
  .scroll { overflow: visible; } .scroll.nights { direction: ltr; }
  .list th, .list td { padding: 5px 8px; }
  .grid { table-layout: fixed; } .grid th, .grid td, .grid td:last-child { padding: 1px 0; } .grid thead th { overflow: hidden; }
  .grid tr > :first-child { position: static; width: 11em; } .grid tbody th { padding-right: 4px; padding-left: 8px; white-space: normal; }
  .cell { min-width: 0; height: 20px; overflow: hidden; border-radius: 3px; } .legend .cell { height: 20px; }
  .grid.many thead tr:last-child span { visibility: hidden; }
  header { padding-top: 0; } h2 { margin-top: 20px; break-after: avoid; } tr, figure, .scroll { break-inside: avoid; }
  .figures { grid-template-columns: repeat(3, minmax(0, 1fr)); }
}
`;
