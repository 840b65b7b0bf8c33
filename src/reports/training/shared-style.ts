/**
 * The design shared by the viewer's page and report.html: colours for light and dark mode, text, facts, tiles,
 * statuses, notes, tables and sections of charts.
 */
export const sharedStyle = `
:root {
  color-scheme: light dark;
  --page: #fff;
  --raised: #f6f7f9;
  --ink: #16191f;
  --soft: #5c6573;
  --edge: #dfe3e8;
  --grid: #eceef2;
  --link: #1f56c4;
  --s0: #2563eb;
  --s1: #c2620a;
  --s2: #0c8f63;
  --s3: #8b3fd6;
  --s4: #c92a4b;
  --s5: #0e87a3;
  --s6: #7a6a00;
  --s7: #d13a9b;
  --good: #0b7350;
  --bad: #b91f2c;
  --warn: #8a5600;
  --unlikely: #ffa23f;
  --problem: #fdf1f1;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #111419;
    --raised: #191d24;
    --ink: #e3e6eb;
    --soft: #9aa4b3;
    --edge: #2d333d;
    --grid: #22272f;
    --link: #85b1ff;
    --s0: #6ea8fe;
    --s1: #f5a54a;
    --s2: #46cf9a;
    --s3: #c08bfa;
    --s4: #ff7d95;
    --s5: #51c9e4;
    --s6: #d4c04e;
    --s7: #f48fcd;
    --good: #4fcb98;
    --bad: #ff858c;
    --warn: #e2b04f;
    --unlikely: #a85e08;
    --problem: #2a181b;
  }
}
* {
  box-sizing: border-box;
}
body {
  margin: 0;
  background: var(--page);
  color: var(--ink);
  font:
    14px / 1.45 system-ui,
    -apple-system,
    "Segoe UI",
    Roboto,
    "Helvetica Neue",
    Arial,
    "Noto Sans",
    sans-serif;
}
nav,
main {
  padding: 0 20px;
}
main {
  padding-bottom: 48px;
}
nav {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 8px;
  padding-block: 8px;
  border-bottom: 1px solid var(--edge);
  overflow-wrap: anywhere;
}
.brand {
  font-weight: 600;
}
h1 {
  margin: 0;
  font-size: 19px;
  font-weight: 600;
  line-height: 1.3;
  overflow-wrap: anywhere;
}
h2 {
  margin: 0;
  font-size: 15px;
  font-weight: 600;
}
p {
  margin: 6px 0;
}
b {
  font-weight: 600;
}
.title {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 4px 12px;
  margin: 16px 0 10px;
}
.soft {
  color: var(--soft);
}
.good {
  color: var(--good);
}
.bad {
  color: var(--bad);
}
.status {
  display: inline-flex;
  align-items: center;
  gap: 6px;
  color: var(--status);
  white-space: nowrap;
}
.status::before {
  content: "";
  width: 8px;
  height: 8px;
  border-radius: 50%;
  background: var(--status);
}
.status.running {
  --status: var(--link);
}
.status.completed {
  --status: var(--good);
}
.status.failed {
  --status: var(--bad);
  font-weight: 600;
}
.status.interrupted,
.status.stopped {
  --status: var(--warn);
}
.problem {
  margin: 8px 0;
  padding: 6px 10px;
  border-left: 3px solid var(--bad);
  background: var(--problem);
  overflow-wrap: anywhere;
}
.note {
  margin: 8px 0;
  padding: 4px 10px;
  border-left: 3px solid var(--warn);
  background: var(--raised);
  overflow-wrap: anywhere;
}
dl,
dd {
  margin: 0;
}
.facts {
  display: flex;
  flex-wrap: wrap;
  gap: 2px 24px;
  margin: 6px 0 10px;
}
.facts div {
  display: flex;
  gap: 8px;
  min-width: 0;
}
.facts dt {
  color: var(--soft);
}
.facts dd {
  overflow-wrap: anywhere;
  min-width: 0;
}
.tiles {
  display: grid;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 150px), 1fr));
  gap: 8px;
  margin: 12px 0;
}
.tile {
  padding: 8px 12px;
  border: 1px solid var(--edge);
  border-radius: 6px;
  min-width: 0;
}
.tile b {
  display: block;
  font-size: 20px;
  line-height: 1.3;
  font-variant-numeric: tabular-nums;
}
.tile small {
  font-size: 12px;
}
table {
  border-collapse: collapse;
  font-variant-numeric: tabular-nums;
}
th,
td {
  padding: 4px 20px 4px 0;
  text-align: left;
  vertical-align: top;
  border-bottom: 1px solid var(--grid);
  white-space: nowrap;
}
th:last-child,
td:last-child {
  padding-right: 0;
}
th {
  font-weight: 500;
  color: var(--soft);
  border-bottom-color: var(--edge);
}
.number {
  text-align: right;
  font-variant-numeric: tabular-nums;
  white-space: nowrap;
}
.wrap {
  white-space: normal;
  overflow-wrap: anywhere;
  min-width: 14ch;
}
details {
  margin: 14px 0;
}
summary {
  cursor: pointer;
  color: var(--soft);
  margin-bottom: 4px;
}
.section > summary {
  padding: 4px 0;
  border-bottom: 1px solid var(--edge);
}
summary h2 {
  display: inline;
  color: var(--ink);
}
.charts {
  display: grid;
  gap: 20px 28px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 380px), 1fr));
  margin: 8px 0 20px;
}
figure {
  margin: 0;
  min-width: 0;
}
figcaption {
  display: flex;
  flex-wrap: wrap;
  align-items: baseline;
  gap: 0 8px;
  overflow-wrap: anywhere;
}
pre,
code {
  font:
    13px / 1.5 ui-monospace,
    SFMono-Regular,
    Menlo,
    Consolas,
    "DejaVu Sans Mono",
    "Noto Sans Mono",
    monospace;
}
pre {
  margin: 0;
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  tab-size: 4;
}
pre.soft {
  color: var(--soft);
}
.samples {
  display: grid;
  gap: 16px 28px;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 480px), 1fr));
  margin: 8px 0;
}
.sample {
  padding-left: 12px;
  border-left: 2px solid var(--edge);
  min-width: 0;
}
.sample header {
  display: flex;
  flex-wrap: wrap;
  gap: 0 14px;
  color: var(--soft);
}
.sample > div {
  display: grid;
  grid-template-columns: 88px minmax(0, 1fr);
  margin-top: 4px;
}
.sample > div > span {
  color: var(--soft);
  font-size: 12px;
  line-height: 20px;
}
.sample .completion > span {
  color: var(--ink);
  font-weight: 600;
}
@media (max-width: 900px) {
  nav,
  main {
    padding-inline: 12px;
  }
}
@media (max-width: 560px) {
  .facts {
    display: grid;
  }
  .tiles {
    grid-template-columns: 1fr 1fr;
  }
  .sample > div {
    display: block;
  }
}
@media print {
  figure,
  .tile,
  .sample {
    break-inside: avoid;
  }
}
`;
