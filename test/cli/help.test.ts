import { Command } from "commander";
import { describe, expect, it } from "vitest";
import type { Commands } from "../../cli/create-program.ts";
import { createProgram } from "../../cli/create-program.ts";

const nothing = async (): Promise<void> => undefined;
const commands = new Proxy({}, { get: () => nothing }) as Commands;
const program = createProgram(commands, { version: "0" });
const all = [program, ...program.commands].filter((command) => command.name() !== "serve");

/** Returns the help of a command in a terminal of this width. */
function helpOf(command: Command, width: number): string {
  let text = "";
  const write = (part: string): void => {
    text += part;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => width }).outputHelp();
  return text;
}

describe.each(all.map((command) => [command.name(), command] as const))("help of %s", (_, command) => {
  it("fits a terminal of 80 columns and breaks no word", () => {
    const words = helpOf(command, 10_000).split(/\s+/);
    const text = helpOf(command, 80);
    for (const line of text.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(text.split(/\s+/)).toEqual(words);
  });

  it("has examples that the command accepts", async () => {
    const examples = helpOf(command, 80).split("\nExamples:\n")[1]?.trim().split("\n") ?? [];
    expect(examples.length).toBeGreaterThan(0);
    for (const example of examples) {
      const [name, ...words] = example.trim().split(" ");
      expect(name).toBe("lyceum");
      if (command !== program) expect(words[0]).toBe(command.name());
      const parsing = createProgram(commands, { version: "0" });
      for (const one of [parsing, ...parsing.commands]) one.configureOutput({ writeOut: () => undefined });
      const error = await parsing.parseAsync(words, { from: "user" }).catch((thrown: unknown) => thrown);
      if (!(error instanceof Command)) expect(error, example).toMatchObject({ code: "commander.helpDisplayed" });
    }
  });
});

it("help shows no meaningless defaults", () => {
  const texts = all.map((command) => helpOf(command, 10_000)).join("\n");
  expect(texts).not.toMatch(/default: (false|\[\]|")/);
  expect(texts).toContain("the device of local models (auto, cpu, webgpu, cuda, coreml, dml) (default: auto)");
});
