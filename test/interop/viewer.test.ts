import { existsSync } from "node:fs";
import { appendFile, mkdir, mkdtemp, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { exportFile } from "../../reports/viewer/export-file.ts";
import { folderSource } from "../../reports/viewer/folder-source.ts";
import { type PageFiles, readPageFiles } from "../../reports/viewer/page-files.ts";
import { serveView, type ViewServer } from "../../reports/viewer/server.ts";
import { tracePath } from "../../reports/viewer/trace-index.ts";
import { evaluatePair, trainingEvents, writeTraining } from "../reports/viewer/runs.ts";
import { writeTracedTraining } from "../reports/viewer/traced-training.ts";

const executablePath = process.env.LYCEUM_CHROMIUM ?? "/usr/bin/chromium";
const hasBrowser = existsSync(executablePath);
if (!hasBrowser) console.log(`No browser at ${executablePath}: the viewer's page is not tested. Install chromium.`);

describe.skipIf(!hasBrowser)("the viewer in a browser", () => {
  let folder: string;
  let files: PageFiles;
  let server: ViewServer;
  let browser: Browser;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lyceum-viewer-"));
    files = await readPageFiles();
    await evaluatePair(join(folder, "runs/first"), { samples: 3 });
    await evaluatePair(join(folder, "runs/second"), { samples: 3, hard: 5, name: "larger-coder" });
    await writeTraining(join(folder, "runs/train"), trainingEvents(200, 60));
    await writeTracedTraining(join(folder, "runs/stages/1-sft"));
    await writeTracedTraining(join(folder, "runs/stages/practice"), { to: 3 });
    server = await serveView({ source: folderSource(join(folder, "runs")), page: files });
    browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
    return async () => {
      await browser.close();
      await server.close();
      await rm(folder, { recursive: true });
    };
  });

  /**
   * A page that fails the test if one of its scripts throws or is blocked. `LYCEUM_SCREENSHOTS` is a folder for
   * screenshots.
   */
  async function opened(
    hash: string,
    test: (page: Page) => Promise<void>,
    options: {
      readonly url?: string;
      readonly width?: number;
      readonly dark?: boolean;
      /** The problem of the test. */
      readonly problem?: string;
    } = {},
  ): Promise<void> {
    const { url = server.url, width = 1_280, dark = false, problem } = options;
    const problems: string[] = [];
    const page = await browser.newPage({ viewport: { width, height: 860 }, colorScheme: dark ? "dark" : "light" });
    page.on("pageerror", (error) => problems.push(error.message));
    page.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
    try {
      await page.goto(`${url}${hash}`);
      await test(page);
      expect(problems.filter((one) => problem === undefined || !one.includes(problem))).toEqual([]);
      const screenshots = process.env.LYCEUM_SCREENSHOTS;
      if (screenshots !== undefined) {
        await mkdir(screenshots, { recursive: true });
        const name = (expect.getState().currentTestName ?? "page").replaceAll(/\W+/g, "-");
        await page.screenshot({ path: join(screenshots, `${name}-${width}${dark ? "-dark" : ""}.png`) });
      }
    } finally {
      await page.close();
    }
  }
  /** The right edge of a column's head in the page, in pixels. */
  const rightOf = async (page: Page, name: string, table = 0): Promise<number> => {
    const head = page
      .locator("table:has(thead)")
      .nth(table)
      .locator("th")
      .filter({ hasText: new RegExp(`^${name}$`) });
    const { x, width } = (await head.boundingBox())!;
    return x + width;
  };
  const rowsOf = (page: Page) => page.locator("table.episodes tbody tr");

  it("lists the runs, and compares two selected ones", () =>
    opened("", async (page) => {
      await page.getByRole("link", { name: "first", exact: true }).waitFor();
      expect(await page.locator("table.runs tbody tr").count()).toBe(5);
      await page.getByRole("checkbox", { name: "Choose first" }).check();
      await page.getByRole("checkbox", { name: "Choose second" }).check();
      await page.getByRole("link", { name: "Compare the two" }).click();
      await page.getByText("40 tasks in both").waitFor();
      // The earlier run is the baseline.
      expect(page.url()).toContain("#/compare/first/second");
      expect(await page.locator("tbody tr", { hasText: "accuracy" }).first().innerText()).toContain("+19.4 points");
      await page.getByLabel("tasks").selectOption("worse");
      expect(await page.getByText("3 tasks by accuracy").count()).toBe(1);
    }));

  it("sorts and filters the runs with the state in the address, and overlays trainings", () =>
    opened("", async (page) => {
      const paths = () => page.locator("table.runs tbody td.name a").allInnerTexts();
      await page.getByRole("link", { name: "first", exact: true }).waitFor();
      await page.getByRole("button", { name: "run", exact: true }).click();
      expect(await paths()).toEqual(["first", "second", "stages/1-sft", "stages/practice", "train"]);
      await page.getByRole("button", { name: "run", exact: true }).click();
      expect(await page.locator("th[aria-sort=descending]").innerText()).toContain("run");
      expect((await paths())[0]).toBe("train");
      await page.reload();
      await page.getByLabel("kind").selectOption("training");
      await expect.poll(paths).toEqual(["train", "stages/practice", "stages/1-sft"]);
      await page.getByRole("checkbox", { name: "Choose all" }).check();
      await page.getByRole("link", { name: "Overlay the 3 trainings" }).click();
      await page.locator(".uplot canvas").first().waitFor();
      const legend = page.locator("figure", { hasText: "of training episodes" }).locator(".u-legend");
      for (const name of ["train", "stages/1-sft", "stages/practice"]) expect(await legend.innerText()).toContain(name);
      const drawn = () => page.evaluate("document.querySelector('.uplot canvas').toDataURL()");
      const before = await drawn();
      await page.getByLabel("smoothing").fill("0.9");
      await expect.poll(drawn).not.toBe(before);
      expect(page.url()).toContain("smoothing=0.9");
      expect(await page.locator("table.metrics tbody tr", { hasText: "train" }).first().innerText()).toContain("grpo");
    }));

  it("filters, searches and pages through episodes with the state in the address", () =>
    opened("#/run/first", async (page) => {
      await page.getByText("120 episodes").waitFor();
      expect(await rowsOf(page).count()).toBe(100);
      await page.getByRole("link", { name: "→" }).click();
      await page.getByText("101 – 120").waitFor();
      await page.getByLabel("outcome").selectOption("failed");
      await page.getByText("9 of 120 episodes").waitFor();
      await page.getByRole("button", { name: "clear" }).click();
      await page.getByText("120 episodes").waitFor();
      await page.keyboard.press("/");
      await page.keyboard.type("add_17 ...");
      await page.getByText("3 of 120 episodes").waitFor();
      expect(await page.evaluate("location.hash")).toBe("#/run/first?text=add_17+...");
      await page.reload();
      await page.getByText("3 of 120 episodes").waitFor();
      expect(await page.getByLabel("search the transcripts").inputValue()).toBe("add_17 ...");
    }));

  it("moves between transcripts by keys, within the filter", () =>
    opened("#/run/first?outcome=correct&order=task", async (page) => {
      await rowsOf(page).first().getByRole("link").click();
      await page.getByText("1 of 60").waitFor();
      await page.keyboard.press("ArrowRight");
      await page.getByText("2 of 60").waitFor();
      await page.keyboard.press("j");
      await page.getByText("3 of 60").waitFor();
      await page.keyboard.press("k");
      await page.getByText("2 of 60").waitFor();
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await page.getByText("2 of 60").waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("60 of 120 episodes").waitFor();
    }));

  it("shows agents, tool calls, tokens with their probability, rewards, sandbox output and errors", () =>
    opened("#/run/first?outcome=correct&order=task", async (page) => {
      await rowsOf(page).first().getByRole("link").click();
      await page.locator(".message").first().waitFor();
      // All agents by turn, and then one of them.
      expect(await page.locator(".message.assistant header").allInnerTexts()).toEqual([
        ...["coder", "reviewer", "coder", "reviewer"],
      ]);
      await page.getByRole("link", { name: /^coder/ }).click();
      await expect.poll(() => page.locator(".message.assistant").count()).toBe(2);
      expect(await page.locator(".call").innerText()).toMatch(/call run[\s\S]*return x \+ 1/);
      const tokens = page.locator(".tokens .token");
      expect(await tokens.count()).toBe(16);
      expect(await tokens.allInnerTexts().then((texts) => texts.join(""))).toContain("return x + 1");
      const grounds = await page.evaluate(
        "new Set([...document.querySelectorAll('.tokens .token')].map((one) => getComputedStyle(one).backgroundColor)).size",
      );
      expect(grounds).toBeGreaterThan(2);
      expect(await tokens.first().getAttribute("title")).toMatch(/^-\d\.\d{3}: \d+\.\d %$/);
      await page.keyboard.press("t");
      await expect.poll(() => tokens.count()).toBe(0);
      expect(await page.locator("aside").innerText()).toMatch(/tests\s+0\.9[\s\S]*Ran 3 tests/);
      await page.getByRole("link", { name: /reviewer/ }).click();
      await page.getByText("Review a function that adds 1.").waitFor();
      await page.goto(`${server.url}#/run/first?outcome=failed`);
      await rowsOf(page).first().getByRole("link").click();
      await page
        .getByText(/The sandbox of task \d+ went away/)
        .first()
        .waitFor();
    }));

  it("shows hostile text as text", () =>
    opened("#/run/first?task=%3D0", async (page) => {
      await rowsOf(page).first().getByRole("link").click();
      await page.locator(".message").first().waitFor();
      expect(await page.locator(".message").first().innerText()).toContain("<script>window.hacked = 1</script>");
      expect(await page.locator(".message").first().innerText()).toContain("\\u202eevil\\x00");
      expect(await page.evaluate("window.hacked")).toBeUndefined();
      expect(await page.locator("main img, main script").count()).toBe(0);
    }));

  it("draws the curves of a training and updates them", () =>
    opened("#/run/train", async (page) => {
      await page.getByText("step 60 of 200").waitFor();
      expect(await page.locator(".uplot canvas").count()).toBeGreaterThan(5);
      const drawn = () => page.evaluate("document.querySelector('.uplot canvas').toDataURL()");
      const before = await drawn();
      await writeTraining(join(folder, "runs/train"), trainingEvents(200, 90));
      await page.getByText("step 90 of 200").waitFor();
      await expect.poll(drawn).not.toBe(before);
      expect(await page.getByText("<script>window.hacked = 1</script>").count()).toBeGreaterThan(0);
      expect(await page.evaluate("window.hacked")).toBeUndefined();
    }));

  it("shows the episodes of a training, by step and agent, with deep links", () =>
    opened("", async (page) => {
      await page.getByRole("link", { name: "stages/1-sft" }).click();
      await page.getByRole("link", { name: "Episodes 120" }).click();
      await page.getByText("120 episodes").waitFor();
      await page.getByLabel("step, or 10-20").fill("2-3");
      await page.getByText("40 of 120 episodes").waitFor();
      await page.getByLabel("agent").selectOption("reviewer");
      await page.getByText("reward of reviewer").waitFor();
      await page.getByLabel("outcome").selectOption("scored");
      await page.getByLabel("search the transcripts").fill("add_12 ...");
      await page.getByText("3 of 120 episodes").waitFor();
      expect(await rowsOf(page).first().innerText()).toMatch(/^2\s+12\s/);
      await rowsOf(page).first().getByRole("link").click();
      // The selected agent is shown.
      await page.getByText("Review a function that adds 12.").waitFor();
      expect(await page.locator("aside").innerText()).toMatch(/step\s+2[\s\S]*Ran 3 tests/);
      await page.getByRole("link", { name: /coder/ }).click();
      await page.locator(".tokens .token").first().waitFor();
      const address = page.url();
      await page.goto("about:blank");
      await page.goto(address);
      await page.getByText("1 of 3").waitFor();
      await page.keyboard.press("ArrowRight");
      await page.getByText("2 of 3").waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("3 of 120 episodes").waitFor();
      expect(page.url()).toContain("#/run/stages%2F1-sft/episodes?");
      await page.getByRole("link", { name: "Curves" }).click();
      await page.locator(".uplot canvas").first().waitFor();
    }));

  it("follows the episodes of a training that is killed and resumed", () =>
    opened("#/run/stages%2Fpractice/episodes?order=newest", async (page) => {
      const run = join(folder, "runs/stages/practice");
      await page.getByText("60 episodes").waitFor();
      const { size } = await stat(tracePath(run));
      await appendFile(tracePath(run), '{"id":"half a line');
      await page.locator(".status.stopped").waitFor();
      await truncate(tracePath(run), size);
      await writeTracedTraining(run, { from: 3, to: 5 });
      await page.getByText("100 episodes").waitFor();
      expect(await rowsOf(page).first().innerText()).toMatch(/^5\s/);
      await writeTracedTraining(run, { from: 5 });
      await page.getByText("120 episodes").waitFor();
      await page.locator(".status.completed").waitFor();
    }));

  it("leads back to the list page of the transcript", () =>
    opened("#/run/first?offset=100", async (page) => {
      await page.getByText("101 – 120").waitFor();
      await rowsOf(page).first().getByRole("link").click();
      await page.getByText("101 of 120").waitFor();
      await page.keyboard.press("Escape");
      await page.getByText("101 – 120").waitFor();
    }));

  it("fits a phone and dark mode", async () => {
    const pages = [
      "#/run/first",
      "#/run/train",
      "#/compare/first/second",
      "#/run/stages%2F1-sft/episodes",
      "#/overlay/train/stages%2F1-sft",
    ];
    for (const hash of ["", ...pages, "#/run/first?task=%3D0", "#/run/stages%2F1-sft/episodes?task=%3D0"]) {
      await opened(
        hash,
        async (page) => {
          await page.locator("h1").waitFor();
          if (hash.includes("task")) {
            await rowsOf(page).first().getByRole("link").click();
            await page.locator(".message").first().waitFor();
          }
          expect(await page.evaluate("document.documentElement.scrollWidth - innerWidth"), hash).toBeLessThanOrEqual(0);
          if (hash === "") expect(await rightOf(page, "reward")).toBeLessThanOrEqual(390);
          if (hash.includes("compare")) {
            for (const table of [0, 1]) expect(await rightOf(page, "B", table)).toBeLessThanOrEqual(390);
          }
          const ground = await page.evaluate("getComputedStyle(document.body).backgroundColor");
          expect(ground).toBe("rgb(17, 20, 25)");
        },
        { width: 390, dark: true },
      );
    }
  });

  it("reports an error and continues", () =>
    opened(
      "#/run/first/episode/nothing",
      async (page) => {
        await page.getByRole("alert").waitFor();
        expect(await page.getByRole("alert").innerText()).toContain("no episode nothing");
        await page.getByRole("link", { name: "Lyceum" }).click();
        await page.getByRole("link", { name: "first", exact: true }).waitFor();
      },
      // So the browser reports the answer.
      { problem: "404 (Not Found)" },
    ));

  it("shows an exported training with its episodes", async () => {
    const source = folderSource(join(folder, "runs"));
    const path = join(folder, "training.html");
    await writeFile(path, await exportFile({ source, path: "stages/1-sft", page: files, episodes: 30 }));
    await opened(
      "",
      async (page) => {
        await page.getByText("30 of the run's 120 transcripts").waitFor();
        await page.getByRole("link", { name: "Episodes" }).click();
        await page.getByLabel("step, or 10-20").fill("6");
        await page.getByText("5 of 30 episodes").waitFor();
        await rowsOf(page).first().getByRole("link").click();
        await page.locator(".message").first().waitFor();
      },
      { url: pathToFileURL(path).href },
    );
  });

  it("shows an exported file from the disk, with nothing else", async () => {
    const source = folderSource(join(folder, "runs"));
    const path = join(folder, "report.html");
    await writeFile(path, await exportFile({ source, path: "first", page: files, episodes: 119 }));
    await opened(
      "",
      async (page) => {
        await page.getByText("119 of the run's 120 transcripts").waitFor();
        await page.getByLabel("search the transcripts").fill("window.hacked");
        await page.getByText(/[23] of 119 episodes/).waitFor();
        await rowsOf(page).first().getByRole("link").click();
        await page.locator(".message").first().waitFor();
        expect(await page.locator(".message").first().innerText()).toContain("<script>window.hacked = 1</script>");
        expect(await page.evaluate("window.hacked")).toBeUndefined();
      },
      { url: pathToFileURL(path).href },
    );
  });
});
