import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { exportedPage } from "../../../reports/viewer/exported-page.ts";
import type { ExportedRun } from "../../../reports/viewer/exported-run.ts";

it("a page allows only its own script, for any text in the script and the run's name", () => {
  const script = 'const end = "</script>"; const comment = /<!--/;';
  const run = { line: { name: "<b>\u202e</title>" }, view: { kind: "evaluation" }, episodes: [] } as unknown;
  const page = exportedPage(run as ExportedRun, { style: "b{}", script });
  const [, written] = /<script type="module">(.*?)<\/script>/s.exec(page)!;
  const hash = createHash("sha256").update(written!).digest("base64");
  const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)![1]!.replaceAll("&#39;", "'");
  expect(policy).toContain(`default-src 'none';`);
  expect(policy).toContain(`script-src 'sha256-${hash}';`);
  // The data's element and the page's own.
  expect(page.match(/<\/?script/g)).toHaveLength(4);
  expect(page).not.toContain("<!--");
  // biome-ignore lint/security/noGlobalEval: it says the same as it did before.
  expect(eval(`${written}; end`)).toBe("</script>");
  expect(page).toContain("<title>&lt;b&gt;\\u202e&lt;/title&gt; · Lyceum</title>");
  expect(page).toContain("<style>b{}</style>");
});
