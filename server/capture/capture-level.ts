import { textMessage } from "../../src/contract/message.ts";
import type { Policy } from "../../src/contract/policy.ts";
import type { CaptureLevel } from "./rollout-document.ts";

/** Asks a policy for one token, to see what it reports. A policy that fails counts as `text`. */
export async function captureLevelOf(policy: Policy, signal?: AbortSignal): Promise<CaptureLevel> {
  try {
    const { tokens, logprobs } = await policy.act({
      agent: "agent",
      messages: [textMessage("user", "Hi")],
      sampling: { temperature: 1, maxTokens: 1 },
      seed: 0,
      ...(signal === undefined ? {} : { signal }),
    });
    return tokens !== undefined ? "tokens" : logprobs !== undefined ? "logprobs" : "text";
  } catch {
    return "text";
  }
}
