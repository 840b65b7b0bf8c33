import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environments } from "../../environments/index.ts";
import { algorithms } from "../../trainers/algorithms/index.ts";
import { codeBlocks } from "../docs/code-blocks.ts";
import { runCommand } from "../docs/run-command.ts";
import { commandsOf, repeatsTutorial } from "../docs/shell-commands.ts";
import { repository } from "../examples/run-program.ts";
import { runTutorial } from "./run-tutorial.ts";

const execute = promisify(execFile);
const npm = process.platform === "win32" ? "npm.cmd" : "npm";
/** Simulates a machine on which npm has never run in this repository. */
const environment = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("npm_"))),
  ONNXRUNTIME_NODE_INSTALL: "skip",
};

interface PackedFile {
  readonly path: string;
  readonly mode: number;
}
interface Manifest {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
}

let folder: string;
/** The folder of the installed package. */
let project: string;
let tarball: string;
let packed: readonly PackedFile[];
let manifest: Manifest;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "lyceum-package-"));
  project = join(folder, "project");
  await mkdir(project);
  manifest = JSON.parse(await readFile(join(repository, "package.json"), "utf8")) as Manifest;
  // Packing builds first, like publishing.
  const pack = await execute(npm, ["pack", "--json", "--silent", "--pack-destination", folder], {
    cwd: repository,
    env: environment,
    maxBuffer: 1 << 26,
  });
  const [result] = JSON.parse(pack.stdout.slice(pack.stdout.indexOf("["))) as [
    { filename: string; files: PackedFile[] },
  ];
  packed = result.files;
  // As the README describes.
  await execute(npm, ["init", "-y"], { cwd: project, env: environment });
  await execute(npm, ["pkg", "set", "type=module"], { cwd: project, env: environment });
  tarball = join(folder, result.filename);
  await execute(npm, ["install", "--no-audit", "--no-fund", tarball], { cwd: project, env: environment });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Runs a program of the project. */
async function run(name: string, code: string): Promise<string> {
  await writeFile(join(project, name), code);
  const { stdout } = await execute(process.execPath, [name], { cwd: project, env: environment });
  return stdout;
}

const everyImport = `
import { defineEnvironment } from "lyceum";
import { environments, mathEnvironment } from "lyceum/environments";
import { createOnnxBackend } from "lyceum/onnx";
import { createSandbox } from "lyceum/sandbox";
import { checkEnvironment } from "lyceum/testing";
import { algorithms, train } from "lyceum/trainers";
`;

/** JSON is YAML. */
const tinyConfig = JSON.stringify({
  environment: { id: "math", tasks: "arithmetic", digits: 1, answerOnly: true },
  algorithm: { id: "sft" },
  model: { scratch: { hiddenSize: 16, layers: 1, heads: 2, maxLength: 32 } },
  training: { steps: 1, batchSize: 2 },
});

describe("the packed file", () => {
  it("has the build, the licence and the README", () => {
    const tops = new Set(packed.map(({ path }) => path.split("/")[0]));
    expect([...tops].toSorted()).toEqual([
      "AGENTS.md",
      "ARCHITECTURE.md",
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "dist",
      "docs",
      "environments",
      "examples",
      "llms.txt",
      "package.json",
      "sandbox",
      "skills",
    ]);
    const rooms = new Set(packed.flatMap(({ path }) => path.match(/^dist\/([^/]+)\//)?.[1] ?? []));
    expect([...rooms].toSorted()).toEqual(["cli", "environments", "reports", "sandbox", "server", "src", "trainers"]);
    expect(
      packed.filter(
        ({ path }) =>
          !/\.(js|d\.ts|json|md)$|^LICENSE$|^llms\.txt$|^docs\/.*\.(png|svg)$|^examples\/.*\.(ts|yaml|sh|jsonl)$|^examples\/serving\/(Dockerfile|haproxy\.cfg)$|^dist\/(sandbox|environments|server\/python\/templates)\/.*(\.py|Dockerfile)$|^dist\/trainers\/backends\/torch\/(worker\/.*\.py|requirements\.txt)$|^dist\/cli\/template\/.*\.template$|^dist\/reports\/viewer\/page\/.*\.css$|^dist\/server\/grpc\/proto\/.*(\.proto|buf\.yaml)$/.test(
            path,
          ),
      ),
    ).toEqual([]);
  });

  it("has everything that the manifest refers to, and the files that are read at run time", () => {
    const paths = packed.map(({ path }) => `./${path}`);
    const targets = Object.values(manifest.exports).flatMap((target) =>
      typeof target === "string" ? [target] : [target.types, target.default],
    );
    expect(paths).toEqual(
      expect.arrayContaining([...targets, ...Object.values(manifest.bin).map((path) => `./${path}`)]),
    );
    expect(paths).toContain("./dist/trainers/backends/onnx/engine/worker.js");
    expect(paths).toContain("./dist/trainers/backends/onnx/device-trial.js");
  });

  it("has the targets of its documents' links", async () => {
    const paths = packed.map(({ path }) => path);
    const isPacked = (path: string): boolean =>
      paths.includes(path) || paths.some((other) => other.startsWith(`${path.replace(/\/$/, "")}/`));
    const documents = paths.filter((path) => path.endsWith(".md"));
    expect(documents).toEqual(expect.arrayContaining(["README.md", "CHANGELOG.md", "docs/install.md"]));
    const dead: string[] = [];
    for (const document of documents) {
      const text = await readFile(join(repository, document), "utf8");
      const targets = [...text.matchAll(/\]\(([^)\s]+)\)|(?:src|href)="([^"]+)"/g)].map(
        (match) => match[1] ?? match[2]!,
      );
      for (const target of targets) {
        if (/^https?:|^#/.test(target)) continue;
        const path = posix.join(posix.dirname(document), target.replace(/#.*/, ""));
        if (!isPacked(path)) dead.push(`${document}: ${target}`);
      }
    }
    expect(dead).toEqual([]);
  });

  it("starts by its shebang", () => {
    const main = packed.find(({ path }) => path === manifest.bin.lyceum);
    expect(main!.mode & 0o111).toBe(0o111);
  });
});

describe("the installed package", () => {
  it("has one copy of the runtime, and no development dependency", async () => {
    const { stdout } = await execute(npm, ["ls", "--all", "--parseable"], { cwd: project, env: environment });
    const names = stdout.split("\n").map((path) => path.replace(/^.*node_modules\//, ""));
    expect(names.filter((name) => name === "onnxruntime-node")).toHaveLength(1);
    for (const name of ["vitest", "typescript", "node", "knip"]) expect(names).not.toContain(name);
  });

  it("is imported by every subpath without loading the runtime", async () => {
    const shown = await run(
      "imports.mjs",
      `${everyImport}
      const { sharedObjects } = process.report.getReport();
      console.log(JSON.stringify({
        functions: [defineEnvironment, mathEnvironment, createOnnxBackend, createSandbox, checkEnvironment, train].map((f) => typeof f),
        names: [...environments.list(), ...algorithms.list()].map(({ id }) => id),
        native: sharedObjects.filter((path) => /onnxruntime|isolated/.test(path)),
      }));`,
    );
    expect(JSON.parse(shown)).toEqual({
      functions: Array(6).fill("function"),
      names: [...environments.list(), ...algorithms.list()].map(({ id }) => id),
      native: [],
    });
  });

  it("runs code in sandboxes, calls and judges", async () => {
    const shown = await run(
      "sandboxes.mjs",
      `import { createSandbox, gradeCode } from "lyceum/sandbox";
      const codes = { python: "def double(x):\\n    return 2 * x", javascript: "function double(x) { return 2 * x; }" };
      for (const [language, backend] of [["python", "pyodide"], ["javascript", "isolated-vm"]]) {
        await using sandbox = await createSandbox({ language, backend, workers: 1 });
        const number = (value) => (language === "python" ? { int: String(value) } : { float: String(value) });
        const suites = [
          { kind: "calls", language, function: "double", tests: [{ args: [number(4)], expected: number(8) }] },
          { kind: "judge", language, exports: ["double"], tests: [{ code: language === "python"
            ? "assert double(2) == 4" : "if (double(2) !== 4) throw new Error();" }] },
        ];
        for (const suite of suites) {
          console.log(backend, suite.kind, (await gradeCode({ sandbox, code: codes[language], suite })).passed);
        }
      }`,
    );
    expect(shown.trim().split("\n")).toEqual([
      "pyodide calls true",
      "pyodide judge true",
      "isolated-vm calls true",
      "isolated-vm judge true",
    ]);
  });

  it("has the programs that environments run in sandboxes", async () => {
    const problem = {
      task_id: "own/0",
      prompt: "def double(x):\n",
      entry_point: "double",
      canonical_solution: "    return 2 * x\n",
      test: "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(5) == 10\n",
    };
    await writeFile(join(project, "problems.jsonl"), JSON.stringify(problem));
    const shown = await run(
      "bug.mjs",
      `import { bugFixEnvironment } from "lyceum/environments";
      const definition = bugFixEnvironment({ path: "problems.jsonl", sandbox: "pyodide" });
      const { task } = await (await definition.tasks("test")).get(0);
      const environment = await definition.create();
      const { agent } = await environment.reset({ task, seed: 1 });
      console.log(JSON.stringify(agent.messages));
      await environment.close();`,
    );
    expect(shown).toContain("def double(x)");
    expect(shown).not.toContain("return 2 * x");
  });

  it("does not export internal files", async () => {
    const importing = run("inside.mjs", 'await import("lyceum/dist/src/index.js");');
    await expect(importing).rejects.toThrow("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  it("runs the program of the training page", async () => {
    const blocks = [...(await codeBlocks("README.md")), ...(await codeBlocks("docs/training.md"))];
    const programs = blocks.filter(({ file }) => file === "sums.ts" || file === "train.ts");
    expect(programs).toHaveLength(2);
    for (const { file, code } of programs) await writeFile(join(project, file!), code);
    const { stdout, stderr } = await execute(process.execPath, ["train.ts"], { cwd: project, env: environment });
    expect(stderr).toBe("");
    expect(stdout).toMatch(/\nstep 20\/20 .*[\s\S]*\ncompleted at step 20 /);
    expect(await readdir(join(project, "runs/program/model"))).toContain("model.safetensors");
  });

  it("checks the types of these programs with the settings of the install page", async () => {
    const blocks = await codeBlocks("docs/install.md");
    await writeFile(join(project, "tsconfig.json"), blocks.find(({ language }) => language === "json")!.code);
    const own = blocks.filter(
      (block) => block.language === "sh" && block.notRun === undefined && !repeatsTutorial(block),
    );
    const commands = own.flatMap(commandsOf).map(({ text }) => text);
    expect(commands.at(-1)).toBe("npx tsc");
    for (const command of commands) await runCommand(command, { cwd: project, environment });
  });

  it("has types that a strict program compiles against", async () => {
    await writeFile(
      join(project, "typed.ts"),
      `${everyImport.replace("environments, ", "").replace("algorithms, ", "")}
      const environment = defineEnvironment({
        id: "typed",
        tasks: [{ question: "1+1", answer: 2 }],
        reset: ({ task }) => task.question,
        step: ({ task, text }) => ({ reward: Number(text) === task.answer ? 1 : 0 }),
      });
      export const tasks: readonly string[] = [mathEnvironment().spec.id, environment.spec.id];
      export const parts = { createOnnxBackend, checkEnvironment, train };
      // @ts-expect-error a task is not any
      defineEnvironment({ id: "wrong", tasks: [1], reset: ({ task }) => task.question, step: () => ({ reward: 1 }) });`,
    );
    const options = [
      "--ignoreConfig",
      "--strict",
      "--module",
      "nodenext",
      "--target",
      "es2024",
      "--noEmit",
      "--skipLibCheck",
      "--types",
      "",
    ];
    const libraries = ["--lib", "es2024,esnext.disposable,esnext.float16"];
    const compiler = join(repository, "node_modules/typescript/bin/tsc");
    const compiled = await execute(process.execPath, [compiler, ...options, ...libraries, "typed.ts"], {
      cwd: project,
    }).catch((error: { stdout: string }) => error);
    expect(compiled.stdout).toBe("");
  });
});

describe("a new user", () => {
  it("completes the tutorial in an empty folder", async () => {
    const home = join(folder, "new-user");
    await mkdir(home);
    // Like a user: the only variable for ONNX Runtime's install step is the one of the tutorial.
    const { ONNXRUNTIME_NODE_INSTALL: _, ...plain } = environment;
    const { outputs, project: own } = await runTutorial({ folder: home, tarball, environment: plain });
    const shown = (text: string): string => outputs.get(text) ?? "";
    expect(shown("npx tsc")).toBe("");
    expect(shown("npm test")).toMatch(/pass 6\n/);
    expect(shown("npx lyceum check ./environment.ts")).toMatch(/: (\d+) of \1 rules pass/);
    expect(shown("npx lyceum play ./environment.ts --task 1")).toContain("agent: reward 1 ");
    const trained = shown("npx lyceum train");
    expect(trained).toMatch(/\nevaluation of test at step 0 {2}reward 0 {2}/);
    const last = /\nevaluation of test at step 25 .* reward ([\d.]+)/.exec(trained);
    expect(Number(last?.[1])).toBeGreaterThan(0.5);
    expect(shown("npx lyceum train --config grpo.yaml --probe")).toMatch(/probe: \d of 4 groups/);
    expect(shown("npx lyceum train --config grpo.yaml")).toMatch(/\nstep 1\/1 /);
    expect(shown("npx lyceum compare runs/eval-train runs/eval-grpo")).toContain("20 tasks in both");
    expect(shown("npx lyceum view runs")).toContain("http://");
    expect(await readdir(join(own, "runs/train"))).toEqual(expect.arrayContaining(["model", "report.html"]));
    const report = await readFile(join(own, "runs/train/report.html"), "utf8");
    expect(report).toContain("sft on my-env");
    expect(report).toContain('id="exported-run"');
  });
});

describe("a coding agent", () => {
  it("follows the skill of the package, and the model learns from rewards", async () => {
    const document = "skills/lyceum/SKILL.md";
    const own = join(folder, "agent");
    await mkdir(own);
    await symlink(join(project, "node_modules"), join(own, "node_modules"), "junction");
    await writeFile(join(own, "package.json"), '{ "type": "module" }');
    const blocks = await codeBlocks(document);
    for (const { file, code } of blocks) if (file !== undefined) await writeFile(join(own, file), code);
    const outputs: string[] = [];
    const commands = blocks.filter(({ language, notRun }) => language === "sh" && notRun === undefined);
    for (const { text } of commands.flatMap(commandsOf)) {
      outputs.push(await runCommand(text, { cwd: own, environment }));
    }
    expect(outputs[1]).toMatch(/: (\d+) of \1 rules pass/);
    expect(outputs.at(-1)).toContain("B is better");
    const skill = await readFile(join(repository, document), "utf8");
    const named = [...skill.matchAll(/node_modules\/lyceum\/\S+?\.md/g)].map(([path]) => join(own, path));
    expect(named.length).toBeGreaterThan(2);
    expect(named.filter((path) => !existsSync(path))).toEqual([]);
  }, 900_000);
});

describe("npx lyceum", () => {
  const lyceum = (...args: string[]) => execute("npx", ["lyceum", ...args], { cwd: project, env: environment });

  it("prints the version and the devices", async () => {
    const { stdout } = await lyceum("info", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      lyceum: manifest.version,
      onnxruntime: { version: "1.30.0" },
      devices: expect.arrayContaining([{ name: "cpu", works: true }]),
    });
    expect((await lyceum("info")).stdout).toContain("Environments");
  });

  it("trains with a config", async () => {
    await writeFile(join(project, "tiny.yaml"), tinyConfig);
    const { stdout } = await lyceum("train", "--config", "tiny.yaml");
    expect(stdout).toMatch(/\nstep 1\/1 /);
    expect(await readdir(join(project, "runs/tiny"))).toEqual(expect.arrayContaining(["model", "report.html"]));
  });
});

describe("without the optional parts", () => {
  it("names what is missing and how to install it, and everything else works", async () => {
    for (const name of ["isolated-vm", "onnxruntime-node"]) {
      await rm(join(project, "node_modules", name), { recursive: true });
    }
    const shown = await run(
      "without.mjs",
      `${everyImport}
      const environment = defineEnvironment({ id: "copy", tasks: ["a"], reset: () => "a", step: () => ({ reward: 1 }) });
      console.log((await checkEnvironment(environment)).problems.length);
      for (const open of [
        () => createSandbox({ language: "javascript", backend: "isolated-vm" }),
        () => createOnnxBackend(),
        () => createOnnxBackend({ device: "webgpu" }),
      ]) {
        const { code, message, hint } = await open().catch((error) => error);
        console.log(JSON.stringify({ code, message, hint }));
      }`,
    );
    const [problems, ...errors] = shown.trim().split("\n");
    expect(problems).toBe("0");
    const engine = {
      code: "backend.unsupported",
      message: expect.stringContaining("onnxruntime-node) is not installed"),
      hint: expect.stringContaining("ONNXRUNTIME_NODE_INSTALL=skip npm install"),
    };
    expect(errors.map((error) => JSON.parse(error) as unknown)).toEqual([
      {
        code: "sandbox.unavailable",
        message: expect.stringContaining("isolated-vm is not installed"),
        hint: expect.stringContaining("npm install isolated-vm@7"),
      },
      engine,
      engine,
    ]);
    await writeFile(join(project, "without.yaml"), tinyConfig);
    const training = execute(
      process.execPath,
      ["node_modules/lyceum/dist/cli/main.js", "train", "--config", "without.yaml"],
      {
        cwd: project,
        env: environment,
      },
    );
    await expect(training).rejects.toMatchObject({ stderr: expect.stringContaining("error[backend.unsupported]") });
  });
});
