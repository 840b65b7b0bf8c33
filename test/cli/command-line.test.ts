import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { errorText } from "../../cli/error-text.ts";
import { exitCodeOf } from "../../cli/exit-code.ts";
import { listenForInterrupt } from "../../cli/interrupt.ts";
import { nodeVersionProblem } from "../../cli/node-version.ts";
import { resumeCommand } from "../../cli/resume-command.ts";
import { LyceumError } from "../../src/contract/errors/index.ts";

describe("errorText", () => {
  const cause = new Error("the cause");
  const known = new LyceumError({ code: "data.not-found", message: "No file.", hint: "Make one.", cause });

  it("is the code, the message and the hint, without a stack", () => {
    expect(errorText(known, { debug: false })).toBe("error[data.not-found]: No file.\n  Make one.");
    expect(errorText(new TypeError("x is not a function"), { debug: false })).toBe(
      "error: x is not a function\n  Run it again with --debug to print the stack.",
    );
    expect(errorText("text", { debug: false })).toContain("error: text");
    expect(errorText(Object.create(null), { debug: false })).toContain("error: [object Object]");
  });

  it("does not report an interruption as an error", () => {
    const aborted = new LyceumError({ code: "aborted", message: "Interrupted at step 3.", hint: "Go on with: x" });
    expect(errorText(aborted, { debug: false })).toBe("Interrupted at step 3.\n  Go on with: x");
  });

  it("shows the stacks of the error and its causes if requested, even if causes form a cycle", () => {
    const text = errorText(known, { debug: true });
    expect(text).toMatch(/error\[data\.not-found\]: No file\.\n {2}Make one\.\nLyceumError: No file\.\n {4}at /);
    expect(text).toMatch(/caused by: Error: the cause\n {4}at /);
    const circle = new Error("around");
    circle.cause = circle;
    expect(errorText(circle, { debug: true }).match(/around/g)).toHaveLength(2);
  });

  it("never sends control characters of a message to the terminal", () => {
    expect(errorText(new Error("\u001B[2J\u0007"), { debug: false })).toContain("\\x1b[2J\\x07");
  });
});

describe("exitCodeOf", () => {
  it.each([
    [new LyceumError({ code: "config.invalid", message: "" }), 2],
    [new LyceumError({ code: "config.unknown-name", message: "" }), 2],
    [new LyceumError({ code: "data.not-found", message: "" }), 2],
    [new LyceumError({ code: "aborted", message: "" }), 130],
    [new DOMException("stop", "AbortError"), 130],
    [new LyceumError({ code: "backend.failed", message: "" }), 1],
    [new Error("bug"), 1],
    ["text", 1],
  ])("%s gives %i", (error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });
});

describe("nodeVersionProblem", () => {
  it("says what to do for an old Node, and nothing for a new one", () => {
    for (const version of ["24.0.0", "24.21.0", "25.1.0-nightly", "100.0.0"])
      expect(nodeVersionProblem(version)).toBeUndefined();
    for (const version of ["20.19.0", "22.1.0", "23.11.1", "4.0.0"]) {
      expect(nodeVersionProblem(version)).toContain(`needs Node 24 or newer, and this is Node ${version}`);
      expect(nodeVersionProblem(version)).toContain("npm install --save-dev node@24");
    }
  });
});

describe("resumeCommand", () => {
  const args = { config: "a b.yaml", set: ["model.path=it's", "sampling.stop=[x]"], resume: false };

  it("names the program as it was started", () => {
    const start = (script: string, lifecycle?: string) =>
      resumeCommand({
        args: { ...args, set: [] },
        output: "runs/a",
        script,
        environment: { npm_lifecycle_event: lifecycle },
      });
    const rest = "train --config 'a b.yaml' --output runs/a --resume";
    expect(start("/usr/bin/lyceum")).toBe(`lyceum ${rest}`);
    expect(start("/x/node_modules/.bin/lyceum", "npx")).toBe(`npx lyceum ${rest}`);
    expect(start("cli/main.ts", "lyceum")).toBe(`npm run lyceum -- ${rest}`);
    expect(start(`${process.cwd()}/cli/main.ts`)).toBe(`node cli/main.ts ${rest}`);
  });

  it.each([
    ["agents.policies.a=http://h/v1?key=S3#m", "'agents.policies.a=http://h/v1?key=***#m'"],
    [
      "environment.mcp=[{url: http://h/?t=S3, headers: {x-key: S3}}]",
      `'environment.mcp=[{"url":"http://h/?t=***","headers":{"x-key":"***"}}]'`,
    ],
    ["environment.mcp.0.headers.authorization=Bearer S3", "'environment.mcp.0.headers.authorization=***'"],
    [
      "agents.policies.a={model: m, extraBody: {api_key: S3}}",
      `'agents.policies.a={"model":"m","extraBody":{"api_key":"***"}}'`,
    ],
    ["agents.policies.a=http://u:S3@h [", "'agents.policies.a=http://***@h ['"],
    ["model.path=https://h/sk-S3abcdefghijklmnop0/v1", "'model.path=https://h/***/v1'"],
    ["training.steps=5", "training.steps=5"],
  ])("shows no secret of --set %s", (override, shown) => {
    const command = resumeCommand({
      args: { config: "a.yaml", set: [override], resume: false },
      output: "runs/a",
      script: "lyceum",
      environment: {},
    });
    expect(command).toBe(`lyceum train --config a.yaml --set ${shown} --output runs/a --resume`);
  });
});

describe("listenForInterrupt", () => {
  it("aborts at the first signal and ends the process at the second", () => {
    for (const [first, second] of [
      ["SIGINT", "SIGINT"],
      ["SIGTERM", "SIGINT"],
      ["SIGHUP", "SIGTERM"],
    ] as const) {
      const process = new EventEmitter();
      let ends = 0;
      using interruption = listenForInterrupt(process, () => ends++);
      expect(interruption.signal.aborted).toBe(false);
      process.emit(first);
      expect(interruption.signal.aborted).toBe(true);
      expect(LyceumError.isInstance(interruption.signal.reason) && interruption.signal.reason.code).toBe("aborted");
      expect(ends).toBe(0);
      process.emit(second);
      expect(ends).toBe(1);
    }
  });

  it("stops listening on disposal", () => {
    const process = new EventEmitter();
    listenForInterrupt(process)[Symbol.dispose]();
    expect(process.eventNames()).toEqual([]);
  });
});
