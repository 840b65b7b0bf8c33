import { isDeepStrictEqual } from "node:util";
import { LyceumError } from "../../src/contract/errors/index.ts";
import { textMessage } from "../../src/contract/message.ts";
import type { ModelCall, Policy } from "../../src/contract/policy.ts";

/**
 * Returns a model that gives the recorded answers again: to each call the first unused answer to the same messages, or the
 * next one. It fails if a program makes more calls than before.
 */
export function repeatedAnswers({ name, accepts }: Policy, calls: readonly ModelCall[]): Policy {
  const left = [...calls];
  return {
    specificationVersion: "v1",
    name,
    accepts,
    act: async ({ messages }) => {
      const same = left.findIndex((call) => isDeepStrictEqual(call.messages, messages));
      const [call] = left.splice(Math.max(same, 0), 1);
      if (call === undefined) throw moreCalls();
      return { action: call.action };
    },
  };
}

/** An error that clients do not retry. */
function moreCalls(): LyceumError {
  return new LyceumError({ code: "policy.rejected", message: "The program makes more model calls than before." });
}

/** Returns a model whose answers are empty. */
export function emptyAnswers({ name, accepts }: Policy): Policy {
  const act: Policy["act"] = async () => ({ action: { message: textMessage("assistant", ""), finish: "stop" } });
  return { specificationVersion: "v1", name, accepts, act };
}
