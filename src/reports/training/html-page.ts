import { createHash } from "node:crypto";
import { type Html, html, trustedHtml } from "./html.ts";

/**
 * Returns a self-contained HTML page. Its content security policy allows only its own script and embedded images, and
 * no network access.
 */
export function htmlPage(options: {
  readonly title: string;
  readonly style: string;
  readonly script: string;
  readonly isModule?: boolean;
  readonly body: Html;
}): string {
  const { title, style, body } = options;
  // Inside the script, such text can only be part of a string or a pattern.
  const script = options.script.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
  const hash = createHash("sha256").update(script).digest("base64");
  const policy = `default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="Lyceum">
<title>${title} · Lyceum</title>
<link rel="icon" href="data:,">
<style>${trustedHtml(style)}</style>
</head>
<body>
${body}
<script${options.isModule ? trustedHtml(' type="module"') : undefined}>${trustedHtml(script)}</script>
</body>
</html>
`.markup;
}
