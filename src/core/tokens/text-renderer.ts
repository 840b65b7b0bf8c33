import { type Message, textMessage, textOf } from "../../contract/message.ts";
import { ControlTokens } from "./control-tokens.ts";
import type { Renderer } from "./renderer.ts";
import type { Tokenizer } from "./tokenizer.ts";
import { assertExpressible } from "./unsupported-input.ts";

const accepts = ["text"] as const;

/**
 * Creates a renderer without a template. A conversation is the concatenated texts of its messages, which the model
 * continues. Base models and completion prompts of benchmarks need this form. As in `transformers` and vLLM, a prompt
 * begins with the tokens that the tokenizer's post-processor puts in front of a text, such as `<s>`, unless
 * `addSpecialTokens` is false. Special tokens in the text are encoded as ordinary text. A completion ends at the
 * tokenizer's end-of-text token or at a stop sequence.
 */
export function createTextRenderer(
  tokenizer: Tokenizer,
  options: { readonly addSpecialTokens?: boolean } = {},
): Renderer {
  const startIds = options.addSpecialTokens === false ? [] : (tokenizer.startIds ?? []);
  const end = tokenizer.eosToken === undefined ? undefined : tokenizer.tokenId(tokenizer.eosToken);
  const controlTokens = new ControlTokens(tokenizer);
  const encode = (messages: readonly Message[]): number[] => {
    assertExpressible({ renderer: "text", accepts, messages });
    const marks = controlTokens.createMarks();
    const text = marks.mark(messages.map(textOf).join(""));
    return marks.isUsed ? tokenizer.encodeMarked(text, marks) : tokenizer.encode(text);
  };
  return {
    specificationVersion: "v1",
    name: "text",
    accepts,
    stopTokenIds: end === undefined ? [] : [end],
    start: ({ messages }) => [...startIds, ...encode(messages)],
    extend: ({ messages, messageCount }) => encode(messages.slice(messageCount)),
    complete: (message) => [...encode([message]), ...(end === undefined ? [] : [end])],
    parse: ({ ids, finish, stopString }) => {
      const text = tokenizer.decode(end !== undefined && ids.at(-1) === end ? ids.slice(0, -1) : ids);
      const cut = stopString === undefined ? -1 : text.indexOf(stopString);
      return { message: textMessage("assistant", cut < 0 ? text : text.slice(0, cut)), finish };
    },
    settledParts: (text) => ({ reasoning: "", text }),
  };
}
