import { describe, expect, test } from "vitest";
import { boldness } from "../../../environments/kuhn-poker/equilibrium.ts";
import { kuhnPokerEnvironment } from "../../../environments/kuhn-poker/kuhn-poker.ts";
import {
  type Deal,
  deals,
  type KuhnMove,
  legalMoves,
  playerToAct,
  winnings,
} from "../../../environments/kuhn-poker/kuhn-rules.ts";
import type { Episode } from "../../../src/contract/episode.ts";
import { defineEnvironment } from "../../../src/core/environment/define-environment.ts";
import { demonstrationPolicy } from "../../../src/core/policy/demonstration-policy.ts";
import { scriptedPolicy } from "../../../src/core/policy/scripted-policy.ts";
import { rolloutEpisode } from "../../../src/core/rollout/rollout-episode.ts";
import { checkDisjoint } from "../../../src/core/taskset/disjoint.ts";
import { taskEntry } from "../../../src/core/taskset/task-entry.ts";
import { checkEnvironment } from "../../../src/entry-points/testing.ts";
import { climb } from "../hill-climber.ts";

/** The probability that a player bets or calls with a card after these moves. */
type Strategy = (card: string, moves: readonly KuhnMove[]) => number;

/** The first player's mean win, over every hand and every line of play. */
function value(first: Strategy, second: Strategy): number {
  const after = (deal: Deal, moves: readonly KuhnMove[]): number => {
    const legal = legalMoves(moves);
    if (legal.length === 0) return winnings(deal, moves);
    const seat = playerToAct(moves);
    const bold = (seat === "first" ? first : second)(deal[seat], moves);
    let sum = 0;
    for (const move of legal) {
      sum += (move === "bet" || move === "call" ? bold : 1 - bold) * after(deal, [...moves, move]);
    }
    return sum;
  };
  return deals.reduce((sum, deal) => sum + after(deal, []) / deals.length, 0);
}

/** Every deterministic strategy: a choice for each card in each of a player's two situations. */
const pure: readonly Strategy[] = Array.from({ length: 64 }, (_, code) => (card, moves) => {
  const situation = moves.at(-1) === "bet" ? 3 : 0;
  return (code >> ("JQK".indexOf(card) + situation)) & 1;
});

describe("the game", () => {
  test("has the value -1/18 for the first player if both play the equilibrium", () => {
    expect(value(boldness as Strategy, boldness as Strategy)).toBeCloseTo(-1 / 18, 12);
  });

  test("no strategy wins more against the equilibrium", () => {
    const equilibrium = boldness as Strategy;
    for (const other of pure) {
      expect(value(other, equilibrium)).toBeLessThanOrEqual(-1 / 18 + 1e-12);
      expect(value(equilibrium, other)).toBeGreaterThanOrEqual(-1 / 18 - 1e-12);
    }
  });

  test("rewards each line of play by the rules", () => {
    const deal: Deal = { first: "K", second: "Q" };
    const lost: Deal = { first: "J", second: "Q" };
    const ends: readonly [string, number, number][] = [
      ["check check", 1, -1],
      ["check bet fold", -1, -1],
      ["check bet call", 2, -2],
      ["bet fold", 1, 1],
      ["bet call", 2, -2],
    ];
    for (const [line, won, lose] of ends) {
      const moves = line.split(" ") as KuhnMove[];
      for (const [i, move] of moves.entries()) expect(legalMoves(moves.slice(0, i))).toContain(move);
      expect(legalMoves(moves)).toEqual([]);
      expect([winnings(deal, moves), winnings(lost, moves)]).toEqual([won, lose]);
    }
    expect(deals.map(({ first, second }) => first + second).sort()).toEqual(["JK", "JQ", "KJ", "KQ", "QJ", "QK"]);
  });
});

function play(deal: Deal, scripts: Readonly<Record<string, readonly string[]>>, retries = 1): Promise<Episode> {
  const policies = Object.fromEntries(
    Object.entries(scripts).map(([agent, texts]) => {
      let turn = 0;
      return [agent, scriptedPolicy(() => texts[turn++]!)];
    }),
  );
  const environment = kuhnPokerEnvironment({ retries });
  return rolloutEpisode({ environment, task: taskEntry({ deal, chance: 0 }, 0), policies, seed: 1 });
}

function rewards(episode: Episode): readonly unknown[] {
  return ["first", "second"].map((agent) => {
    const { reward } = episode.agents[agent]!;
    return reward.status === "scored" ? reward.value : reward;
  });
}

/** All messages of the agent. */
function told(episode: Episode, agent: string): string {
  const messages = episode.agents[agent]!.nodes.filter(({ message }) => message.role === "user");
  return JSON.stringify(messages.map(({ message }) => message.content));
}

test("passes the conformance suite", async () => {
  expect((await checkEnvironment(kuhnPokerEnvironment(), { tasks: 12 })).problems).toEqual([]);
  const other = kuhnPokerEnvironment({ retries: 0, seed: 3 });
  expect((await checkEnvironment(other, { split: "test" })).problems).toEqual([]);
  await checkDisjoint(await other.tasks("train[:1000]"), await other.tasks("test"));
});

test("the environment's rewards match the rules in every deal and every line of play", async () => {
  for (const deal of deals) {
    for (const line of ["check check", "check bet fold", "check bet call", "bet fold", "bet call"]) {
      const moves = line.split(" ") as KuhnMove[];
      const scripts = {
        first: moves.filter((_, i) => i % 2 === 0).map((move) => `I ${move}.`),
        second: moves.filter((_, i) => i % 2 === 1).map((move) => move.toUpperCase()),
      };
      const chips = winnings(deal, moves);
      expect(rewards(await play(deal, scripts))).toEqual([chips, -chips]);
    }
  }
});

test("an agent's prompt never depends on the other's card", async () => {
  const scripts = { first: ["pass", "check", "call"], second: ["hm", "bet"] };
  const [one, other] = [
    await play({ first: "Q", second: "J" }, scripts),
    await play({ first: "Q", second: "K" }, scripts),
  ];
  expect(told(one, "first")).toBe(told(other, "first"));
  expect(told(one, "first")).toContain("Your card is Q. You chose check. The other player chose bet.");
  const third = await play({ first: "J", second: "K" }, scripts);
  expect(told(other, "second")).toBe(told(third, "second"));
  expect(told(third, "second")).toContain("Your card is K. The other player chose check.");
});

test("an invalid reply gets another try a limited number of times, and then loses the maximum", async () => {
  const deal: Deal = { first: "K", second: "J" };
  expect(rewards(await play(deal, { first: ["call", "bet"], second: ["check", "fold"] }))).toEqual([1, -1]);
  expect(rewards(await play(deal, { first: ["fold", ""], second: [] }))).toEqual([-2, 2]);
  expect(rewards(await play(deal, { first: ["bet"], second: ["raise"] }, 0))).toEqual([2, -2]);
});

test("over many hands between experts, the first player loses the value of the game", async () => {
  const environment = kuhnPokerEnvironment();
  const tasks = await environment.tasks("train");
  const dealt = new Map<string, number>();
  let sum = 0;
  for (let i = 0; i < 3_000; i++) {
    const task = await tasks.get(i);
    const { first, second } = task.task.deal;
    dealt.set(first + second, (dealt.get(first + second) ?? 0) + 1);
    const episode = await rolloutEpisode({
      environment,
      task,
      policies: demonstrationPolicy({ environment }),
      seed: 1,
    });
    const [won, lost] = rewards(episode) as readonly [number, number];
    expect(won + lost).toBe(0);
    sum += won;
  }
  // Five standard deviations of a mean of 3,000 hands.
  expect(Math.abs(sum / 3_000 + 1 / 18)).toBeLessThan(0.13);
  expect(dealt.size).toBe(6);
  expect(Math.min(...dealt.values())).toBeGreaterThan(400);
});

test("no fixed text wins more against the equilibrium than the value of the game", async () => {
  const instance = await kuhnPokerEnvironment().create();
  const act = (text: string) =>
    ({ message: { role: "assistant", content: [{ type: "text", text }] }, finish: "stop" }) as const;
  /** What the text wins as the first player, if the second player is always bold or never. */
  const against = async (deal: Deal, text: string, isBold: boolean): Promise<{ chips: number; chance: number }> => {
    let observations = await instance.reset({ task: { deal, chance: 0 }, seed: 0 });
    let chance = isBold ? 1 : 0;
    for (;;) {
      const isSecond = observations.second !== undefined;
      const afterBet = JSON.stringify(observations).includes("call or fold");
      if (isSecond) {
        const bold = boldness(deal.second, [afterBet ? "bet" : "check"]);
        chance = isBold ? bold : 1 - bold;
      }
      const [yes, no] = afterBet ? ["call", "fold"] : ["bet", "check"];
      const result = await instance.step(isSecond ? { second: act(isBold ? yes! : no!) } : { first: act(text) });
      const reward = result.agents.first?.reward;
      if (reward?.status === "scored") return { chips: reward.value, chance };
      observations = result.observations;
    }
  };
  const environment = defineEnvironment<string>({
    id: "against-the-equilibrium",
    tasks: ["all"],
    rewardRange: [-2, 2],
    reset: () => "Bet.",
    step: async ({ text }) => {
      let sum = 0;
      for (const deal of deals) {
        for (const isBold of [true, false]) {
          const { chips, chance } = await against(deal, text, isBold);
          sum += (chips * chance) / deals.length;
        }
      }
      return { reward: sum };
    },
  });
  const words = ["check", "bet", "call", "fold", "raise"];
  const { best } = await climb({ environment, task: taskEntry("all", 0), words });
  expect(best).toBeLessThanOrEqual(-1 / 18 + 1e-12);
  expect(best).toBeGreaterThan(-0.5);
});
