import type { ChatAnswer } from "./chat-server.ts";

/**
 * Converts a chat answer to an answer of the completions endpoint: the content as text, and log-probabilities as two
 * lists.
 */
export function asTextAnswer(answer: ChatAnswer): ChatAnswer {
  if (typeof answer === "function" || typeof answer.body !== "object" || answer.body === null) return answer;
  const { choices, prompt_token_ids: promptIds } = answer.body as Fields;
  if (!Array.isArray(choices)) return answer;
  const told = choices.map((choice: unknown) => (isFields(choice) ? textChoice(choice, promptIds) : choice));
  return { ...answer, body: { ...answer.body, object: "text_completion", choices: told } };
}

type Fields = Readonly<Record<string, unknown>>;

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}

function textChoice({ message, logprobs, ...choice }: Fields, promptIds: unknown): Fields {
  const content = isFields(logprobs) ? (logprobs.content as readonly Fields[]) : undefined;
  return {
    ...choice,
    ...(isFields(message) ? { text: message.content } : {}),
    ...(content === undefined
      ? {}
      : {
          logprobs: {
            tokens: content.map(({ token }) => token),
            token_logprobs: content.map(({ logprob }) => logprob),
            text_offset: content.map((_, index) => index),
          },
        }),
    ...(promptIds === undefined ? {} : { prompt_token_ids: promptIds }),
  };
}
