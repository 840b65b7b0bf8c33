import { createHash } from "node:crypto";
import { expect, it } from "vitest";
import { html } from "../../../src/reports/training/html.ts";
import { htmlPage } from "../../../src/reports/training/html-page.ts";

it("a page allows only its own script, for any text in the script", () => {
  const script = 'const end = "</script>"; const comment = /<!--/;';
  for (const isModule of [false, true]) {
    const page = htmlPage({ title: "<b>", style: "b{}", script, isModule, body: html`<p>${"<i>"}</p>` });
    const [, attributes, written] = /<script([^>]*)>(.*?)<\/script>/s.exec(page)!;
    expect(attributes).toBe(isModule ? ' type="module"' : "");
    const hash = createHash("sha256").update(written!).digest("base64");
    const policy = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page)![1]!.replaceAll("&#39;", "'");
    expect(policy).toContain(`default-src 'none';`);
    expect(policy).toContain(`script-src 'sha256-${hash}';`);
    expect(page.match(/<\/?script/g)).toHaveLength(2);
    expect(page).not.toContain("<!--");
    // biome-ignore lint/security/noGlobalEval: it says the same as it did before.
    expect(eval(`${written}; end`)).toBe("</script>");
    expect(page).toContain("<title>&lt;b&gt; · Lyceum</title>");
    expect(page).toContain("<p>&lt;i&gt;</p>");
  }
});
