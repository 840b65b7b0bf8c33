import { expect } from "vitest";
import type { CodeTurnOptions } from "../../environments/shared/code-turns/turn-options.ts";
import { type EnvironmentDefinition, type Policy, rolloutEpisode, scriptedPolicy, textOf } from "../../src/index.ts";
import type { LeakAttack } from "./hidden-test-leaks.ts";

export type ArenaOptions<Sandbox> = Pick<CodeTurnOptions, "mode" | "maxTurns" | "sandboxSlice" | "shareTests"> & {
  readonly sandbox: Sandbox;
};

/** An environment, and the agents' answers for an attack. */
export interface Arena<Sandbox = CodeTurnOptions["sandbox"]> {
  readonly name: string;
  /** Its tasks; `test` by default. */
  readonly split?: string;
  readonly open: (options: ArenaOptions<Sandbox>, expert: Policy) => EnvironmentDefinition;
  readonly answers: (attack: LeakAttack) => Readonly<Record<string, string>>;
}

/** The modes with feedback after a turn. */
export const feedbackModes = ["level_feedback", "level_passed", "passed", "plain", "expert_edits"] as const;

/** Each arena has a hidden test with such a text. */
const secret = /hidden[\W_]{0,3}\d\d/i;

/** Returns what the agents and the expert read of hidden tests while agents answer with each attack. */
export async function leakedHiddenTests<Sandbox>(options: {
  readonly arena: Arena<Sandbox>;
  readonly options: ArenaOptions<Sandbox>;
  readonly attacks: readonly LeakAttack[];
}): Promise<{ readonly attack: string; readonly text: string }[]> {
  const { arena, attacks } = options;
  const found: { attack: string; text: string }[] = [];
  const read = (attack: string, texts: readonly string[]): void => {
    found.push(...texts.filter((text) => secret.test(text)).map((text) => ({ attack, text })));
  };
  const expert = scriptedPolicy(({ messages }) => {
    read("any", messages.map(textOf));
    return "```\npass\n```";
  });
  const environment = arena.open(options.options, expert);
  // The sandbox stays open as long as an instance is open.
  const instance = await environment.create();
  const task = await (await environment.tasks(arena.split ?? "test")).get(0);
  const play = async (attack: LeakAttack): Promise<void> => {
    const answers = arena.answers(attack);
    const policies = scriptedPolicy(({ agent, messages }) => {
      read(attack.name, messages.filter(({ role }) => role !== "assistant").map(textOf));
      return answers[agent]!;
    });
    const episode = await rolloutEpisode({ environment, task, policies, seed: 1 });
    expect(episode.error, attack.name).toBeUndefined();
  };
  try {
    await Promise.all(attacks.map(play));
    return found;
  } finally {
    await instance.close();
  }
}
