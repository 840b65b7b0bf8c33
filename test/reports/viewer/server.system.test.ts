import { request } from "node:http";
import { createConnection } from "node:net";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { folderSource } from "../../../reports/viewer/folder-source.ts";
import { serveView } from "../../../reports/viewer/server.ts";
import { temporaryFolder } from "../../temporary-folder.ts";
import { evaluatePair, hostile } from "./runs.ts";
import { servedFolder } from "./viewed-folder.ts";

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Sends headers that `fetch` would reject. */
function ask(
  url: string,
  options: { readonly method?: string; readonly path?: string; readonly headers?: Record<string, string> } = {},
) {
  return new Promise<Answer>((resolve, reject) => {
    const asked = request(url, options, (response) => {
      let body = "";
      response.setEncoding("utf8").on("data", (chunk: string) => {
        body += chunk;
      });
      response.on("end", () => resolve({ status: response.statusCode!, headers: response.headers, body }));
    });
    asked.on("error", reject).end();
  });
}

describe("the server", () => {
  it("serves the page and the data of its folder", async () => {
    const folder = temporaryFolder();
    await evaluatePair(join(folder, "run"), { tasks: 12 });
    const { url } = await servedFolder(folder);
    expect((await ask(url)).body).toContain('src="/page.js"');
    expect((await ask(`${url}page.js`)).body).toBe("/* the script */");
    expect((await ask(`${url}page.css`)).headers["content-type"]).toContain("text/css");
    const { runs } = JSON.parse((await ask(`${url}api/runs`)).body);
    expect(runs).toMatchObject([{ path: "run", done: 12 }]);
    const page = JSON.parse((await ask(`${url}api/episodes?run=run&outcome=failed&offset=0&limit=5`)).body);
    expect(page).toMatchObject({ total: 12, matched: 1 });
    const episode = await ask(`${url}api/episode?run=run&id=${page.rows[0].id}`);
    expect(JSON.parse(episode.body).episode.error.message).toContain("task 10 went away");
    expect(JSON.parse((await ask(`${url}api/compare?first=run&second=run`)).body)).toMatchObject({ shared: 12 });
  });

  it("answers only this machine, by its name and address", async () => {
    const { url } = await servedFolder(temporaryFolder());
    const { port } = new URL(url);
    for (const host of [`localhost:${port}`, `127.0.0.1:${port}`]) {
      expect((await ask(url, { headers: { host } })).status, host).toBe(200);
    }
    for (const host of ["evil.example", `evil.example:${port}`, "localhost", `127.0.0.1.evil.example:${port}`]) {
      for (const path of ["", "page.js", "api/runs"]) {
        const { status, body } = await ask(`${url}${path}`, { headers: { host } });
        expect(status, host).toBe(403);
        expect(body).not.toContain("runs");
      }
    }
  });

  it("answers no page of another site", async () => {
    const { url } = await servedFolder(temporaryFolder());
    const { host, port } = new URL(url);
    const status = async (origin: string) => (await ask(`${url}api/runs`, { headers: { host, origin } })).status;
    expect(await status(`http://${host}`)).toBe(200);
    const foreign = [
      "http://evil.example",
      "null",
      "",
      `http://127.0.0.1:${Number(port) + 1}`,
      `http://localhost:${port}`,
    ];
    for (const origin of [...foreign, `http://${host}.evil.example`, `file://${host}`, `http://${host}/`]) {
      expect(await status(origin), origin).toBe(403);
    }
  });

  it("listens on the loopback address only", async () => {
    const { url } = await servedFolder(temporaryFolder());
    const outside = Object.values(networkInterfaces())
      .flat()
      .find((found) => found?.family === "IPv4" && !found.internal);
    if (outside === undefined) return;
    const connected = new Promise((resolve, reject) => {
      createConnection({ host: outside.address, port: Number(new URL(url).port) })
        .on("connect", resolve)
        .on("error", reject);
    });
    await expect(connected).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it.each([
    "//",
    "//evil.example",
    "//[",
    "/\\\\evil.example",
    "///api/runs",
    "/:99999",
    "/%",
    "*",
    "http://evil.example/",
  ])("answers the path %j without an error of its own", async (path) => {
    const { url } = await servedFolder(temporaryFolder());
    const { status, headers } = await ask(url, { path });
    expect([400, 404]).toContain(status);
    expect(headers["content-type"]).toMatch(/text\/plain|application\/json/);
  });

  it("only reads, and has no other page", async () => {
    const { url } = await servedFolder(temporaryFolder());
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) expect((await ask(url, { method })).status).toBe(405);
    for (const path of [
      "etc/passwd",
      "api",
      "api/other",
      "../package.json",
      "%2e%2e/%2e%2e/etc/passwd",
      "page.js/..",
    ]) {
      expect((await ask(`${url}${path}`)).body, path).not.toMatch(/root:|"lyceum"/);
    }
    expect((await ask(`${url}api/other`)).status).toBe(404);
    expect((await ask(`${url}%ff%00`)).status).toBe(404);
  });

  it("rejects paths outside of its folder in any form", async () => {
    const home = temporaryFolder();
    await evaluatePair(join(home, "secret"), { tasks: 2 });
    await evaluatePair(join(home, "in/run"), { tasks: 2 });
    const { url } = await servedFolder(join(home, "in"));
    expect((await ask(`${url}api/run?run=run`)).status).toBe(200);
    for (const run of ["../secret", "%2e%2e%2fsecret", "run/../../secret", join(home, "secret"), "x%00"]) {
      for (const name of ["run", "episodes", "episode"]) {
        const { status, body } = await ask(`${url}api/${name}?run=${run}&id=a`);
        expect(status, `${name} ${run}`).toBe(404);
        expect(JSON.parse(body).error.code).toBe("data.not-found");
      }
    }
  });

  it("sends text as data, never as a page, and allows only its own scripts", async () => {
    const folder = temporaryFolder();
    await evaluatePair(folder, { tasks: 1 });
    const { url } = await servedFolder(folder);
    const { rows } = JSON.parse((await ask(`${url}api/episodes?run=.`)).body);
    const { headers, body } = await ask(`${url}api/episode?run=.&id=${rows[0].id}`);
    expect(body).toContain(JSON.stringify(hostile).slice(1, -1));
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect(headers["content-security-policy"]).toContain("script-src 'self';");
    expect(headers["content-security-policy"]).not.toMatch(/script-src[^;]*unsafe/);
    const missing = await ask(`${url}api/run?run=${encodeURIComponent(hostile)}`);
    expect(missing.headers["content-type"]).toContain("application/json");
  });

  it("reports that a port is in use, and releases its own", async () => {
    const folder = temporaryFolder();
    const server = await servedFolder(folder);
    const port = Number(new URL(server.url).port);
    const again = () => serveView({ source: folderSource(folder), page: { script: "", style: "" }, port });
    await expect(again()).rejects.toMatchObject({ code: "config.invalid" });
    await server.close();
    await using second = await again();
    expect(second.url).toBe(server.url);
  });
});
