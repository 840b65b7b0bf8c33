import { textMessage } from "../../../src/contract/message.ts";
import type { ActRequest } from "../../../src/contract/policy.ts";
import { defaultSampling } from "../../../src/contract/sampler.ts";

/** A request with defaults for tests. */
export function actRequest(options: Partial<ActRequest> = {}): ActRequest {
  const messages = [textMessage("user", "Twice 2?")];
  return { agent: "agent", messages, sampling: defaultSampling, seed: 1, ...options };
}
