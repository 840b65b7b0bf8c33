/** The stylesheet of report.html: light and dark by the reader's own setting, and fit for print. */
export const reportStyle = `
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --card: #ffffff; --ink: #15181e; --soft: #5b6472; --edge: #e1e5eb; --grid: #e9ecf1;
  --s0: #2563eb; --s1: #d9730d; --s2: #0c8f63; --s3: #8b3fd6; --s4: #c92a4b; --s5: #0e87a3;
  --good: #0c7a53; --bad: #c0232f; --code: #f3f5f8;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0f1217; --card: #171b22; --ink: #e8ebf0; --soft: #9aa4b3; --edge: #2a303a; --grid: #252b34;
    --s0: #6ea8fe; --s1: #f5a54a; --s2: #46cf9a; --s3: #c08bfa; --s4: #ff7d95; --s5: #51c9e4;
    --good: #46cf9a; --bad: #ff8088; --code: #11151b;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 40px 24px 64px; max-width: 1240px; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Noto Sans", sans-serif;
}
header p { margin: 4px 0 0; color: var(--soft); }
h1 { margin: 0; font-size: 28px; line-height: 1.2; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { margin: 40px 0 14px; font-size: 18px; }
.status {
  display: inline-block; margin-left: 10px; padding: 2px 10px; border: 1px solid; border-radius: 99px;
  font-size: 13px; font-weight: 500; letter-spacing: 0; vertical-align: 5px;
}
.good { color: var(--good); } .bad { color: var(--bad); }
.tiles, .charts { display: grid; gap: 16px; }
.tiles { grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); margin-top: 24px; }
.charts { grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.tile, .chart, .sample, .panel {
  margin: 0; padding: 14px 16px; border: 1px solid var(--edge); border-radius: 10px; background: var(--card); min-width: 0;
}
.tile span { display: block; color: var(--soft); font-size: 13px; }
.tile b { font-size: 22px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tile small { display: block; color: var(--soft); font-size: 13px; min-height: 1.5em; }
.chart { display: flex; flex-direction: column; }
figcaption { display: flex; flex-wrap: wrap; gap: 2px 8px; align-items: baseline; }
figcaption span { color: var(--soft); font-size: 13px; }
figcaption strong { font-weight: 600; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 4px 0 0; padding: 0; list-style: none; font-size: 13px; color: var(--soft); }
.key { display: inline-block; width: 16px; height: 3px; margin-right: 6px; border-radius: 2px; vertical-align: 4px; background: currentColor; }
.key.band { height: 11px; opacity: 0.25; vertical-align: -1px; }
.plot { position: relative; margin-top: auto; padding-top: 6px; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, sans-serif; }
.grid { stroke: var(--grid); } .axis { stroke: var(--soft); opacity: 0.6; }
.tick { fill: var(--soft); font-variant-numeric: tabular-nums; }
.line { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
path.range { fill: currentColor; stroke: none; opacity: 0.3; }
path.band { fill: currentColor; stroke: none; opacity: 0.16; }
.dot { fill: currentColor; stroke: var(--card); stroke-width: 1; }
.broken { fill: var(--bad); font-weight: 700; }
.cursor { stroke: var(--soft); stroke-dasharray: 3 3; visibility: hidden; }
.tip {
  position: absolute; top: 6px; padding: 6px 10px; border: 1px solid var(--edge); border-radius: 8px; background: var(--card);
  box-shadow: 0 2px 10px #0003; font-size: 12px; line-height: 1.45; pointer-events: none; visibility: hidden; white-space: nowrap;
  font-variant-numeric: tabular-nums; z-index: 1;
}
.tip b { font-weight: 600; }
.tip .key { width: 10px; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); }
.s3 { color: var(--s3); } .s4 { color: var(--s4); } .s5 { color: var(--s5); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 6px 36px 6px 0; text-align: left; border-bottom: 1px solid var(--edge); vertical-align: top; }
tr:last-child > * { border-bottom: 0; }
th { font-weight: 500; color: var(--soft); }
td.number, th.number { text-align: right; }
td { overflow-wrap: anywhere; }
.facts th { width: 200px; }
.health td:last-child { max-width: 90ch; padding-right: 0; } .health td.number, .health th { white-space: nowrap; }
.health th.bad { color: var(--bad); font-weight: 600; }
.samples { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); }
.sample header { display: flex; gap: 14px; font-size: 13px; color: var(--soft); }
.sample header b { color: var(--ink); font-weight: 600; }
pre {
  margin: 8px 0 0; padding: 10px 12px; border-radius: 6px; background: var(--code); white-space: pre-wrap; overflow-wrap: anywhere;
  font: 13px/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", "Noto Sans Mono", monospace;
}
pre.prompt { color: var(--soft); background: none; padding: 0; }
.panel pre { margin: 0; padding: 0; background: none; }
details { margin-top: 24px; } summary { cursor: pointer; color: var(--soft); } details > div { margin-top: 14px; }
.warnings { margin: 0; padding-left: 20px; }
footer { margin-top: 48px; color: var(--soft); font-size: 13px; }
@media print { body { background: none; } .tile, .chart, .sample, .panel { break-inside: avoid; } }
`;
