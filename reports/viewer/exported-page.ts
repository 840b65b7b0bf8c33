import { createHash } from "node:crypto";
import { html, raw } from "hono/html";
import { visibleText } from "../../src/core/text/visible-text.ts";
import type { ExportedRun } from "./exported-run.ts";
import type { PageFiles } from "./page-files.ts";

/**
 * Returns the viewer's page with a run in it, which it shows without a server. Its content security policy allows only
 * its own script and embedded images, and no network access.
 */
export function exportedPage(run: ExportedRun, page: PageFiles): string {
  const { name, environment } = run.line;
  const title = run.view.kind === "training" ? `${name} on ${environment}` : name;
  // Inside the script, such text can only be part of a string or a pattern.
  const script = page.script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Lyceum">
<title>${visibleText(title)} · Lyceum</title>
<link rel="icon" href="data:,">
<style>${raw(page.style)}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript to show the run.</noscript>
<script type="application/json" id="exported-run">${raw(jsonForScript(run))}</script>
<script type="module">${raw(script)}</script>
</body>
</html>
`.toString();
}

/** Returns JSON for a `<script type="application/json">` element. No text in it can close the element. */
function jsonForScript(data: unknown): string {
  return JSON.stringify(data).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
