import type { DebateOptions } from "./debate-options.ts";
import type { Argument, DebateTopic, Side } from "./debate-topic.ts";

/** Returns a debater's first prompt. It contains no key point. */
export function debaterPrompt(
  options: Pick<DebateOptions, "rounds" | "minWords" | "maxWords">,
  debater: { readonly agent: string; readonly side: Side; readonly topic: DebateTopic },
): string {
  const { rounds, minWords, maxWords } = options;
  const { agent, side, topic } = debater;
  return [
    `You are ${agent} in a debate.`,
    `Proposition: ${topic.proposition}${topic.background === "" ? "" : `\nBackground: ${topic.background}`}`,
    `Your side is ${side}: you argue ${side === "PRO" ? "for" : "against"} the proposition.`,
    `You make ${rounds === 1 ? "one argument" : `${rounds} arguments, one a round`}, each of ${minWords} to ${maxWords} words in whole sentences. Give reasons and evidence, answer what the other side said, and repeat nothing that was said before.`,
  ].join("\n\n");
}

/** Returns a later prompt: the quoted arguments since the debater last spoke, and the request for the next argument. */
export function nextPrompt(round: number, rounds: number, heard: readonly Argument[]): string {
  const quotes = heard.map(({ agent, side, text }) => {
    const lines = text.trim().split(/[\n\r\v\f\u0085\u2028\u2029]+/);
    return `${agent} (${side}) said:\n\n${lines.map((line) => `> ${line}`).join("\n")}`;
  });
  return [...quotes, `Round ${round + 1} of ${rounds}. Make your argument.`].join("\n\n");
}
