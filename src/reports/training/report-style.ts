import { sharedStyle } from "./shared-style.ts";

/** The stylesheet of report.html: the shared design, and the style of its charts, which need no script. */
export const reportStyle: string = `${sharedStyle}
main > h2 { margin: 24px 0 8px; }
.legend { display: flex; flex-wrap: wrap; gap: 2px 16px; margin: 4px 0 0; padding: 0; list-style: none; font-size: 12px; color: var(--soft); }
.key { display: inline-block; width: 16px; height: 3px; margin-right: 6px; border-radius: 2px; vertical-align: 4px; background: currentColor; }
.chart { display: flex; flex-direction: column; }
.plot { position: relative; margin-top: auto; padding-top: 6px; }
svg { display: block; width: 100%; height: auto; font: 11px system-ui, sans-serif; }
.grid { stroke: var(--grid); } .axis { stroke: var(--soft); opacity: 0.6; }
.tick { fill: var(--soft); font-variant-numeric: tabular-nums; }
.line { fill: none; stroke: currentColor; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
path.range { fill: currentColor; stroke: none; opacity: 0.3; }
.dot { fill: currentColor; stroke: var(--page); stroke-width: 1; }
.broken { fill: var(--bad); font-weight: 700; }
.cursor { stroke: var(--soft); stroke-dasharray: 3 3; visibility: hidden; }
.tip {
  position: absolute; top: 6px; padding: 6px 10px; border: 1px solid var(--edge); border-radius: 6px; background: var(--page);
  box-shadow: 0 2px 10px #0003; font-size: 12px; line-height: 1.45; pointer-events: none; visibility: hidden; white-space: nowrap;
  font-variant-numeric: tabular-nums; z-index: 1;
}
.tip .key { width: 10px; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); }
.s3 { color: var(--s3); } .s4 { color: var(--s4); } .s5 { color: var(--s5); }
.scroll { overflow-x: auto; }
.health td:last-child { max-width: 90ch; white-space: normal; }
.health th { border-bottom-color: var(--grid); }
.health th.bad { color: var(--bad); font-weight: 600; }
.panel pre { overflow-x: auto; }
footer { margin: 0 20px 24px; color: var(--soft); font-size: 12px; }
`;
