import { textMessage } from "../../src/contract/message.ts";
import type { ActRequest, Policy } from "../../src/contract/policy.ts";
import type { Sampler } from "../../src/contract/sampler.ts";
import { samplerPolicy } from "../../src/core/policy/sampler-policy.ts";
import { createRandom } from "../../src/core/random/random.ts";
import { characterRenderer } from "../core/rollout/character-renderer.ts";
import { failOrDelay } from "./unreliable-environment.ts";

/** A policy that answers each request separately, and sometimes throws, hangs or is slow. */
export function unreliablePolicy(seed: number): Policy {
  const random = createRandom(seed);
  return {
    specificationVersion: "v1",
    name: "unreliable",
    accepts: ["text"],
    act: async (request) => {
      await (random.next() < 0.5 ? failOrDelay(random, 0.003) : heedful(request));
      return { action: { message: textMessage("assistant", `${request.seed}`), finish: "stop" } };
    },
  };
}

/** Waits a little. Releases its timer and its listener if the request aborts. */
async function heedful({ signal, seed }: ActRequest): Promise<void> {
  if (seed % 50 !== 0) return;
  await new Promise<void>((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal!.removeEventListener("abort", onAbort);
      resolve();
    }, 2);
    signal!.addEventListener("abort", onAbort, { once: true });
  });
}

/** A batching policy over tokens, whose sampler sometimes throws in the middle of a batch or omits a result. */
export function unreliableSamplerPolicy(seed: number): Policy {
  const random = createRandom(seed);
  const sampler: Sampler = {
    specificationVersion: "v1",
    version: 1,
    sample: async function* (requests) {
      for (const [request, { settings }] of requests.entries()) {
        const draw = random.next();
        if (draw < 0.00002) throw new Error("The device is lost.");
        if (draw < 0.0002) continue;
        if (draw < 0.01) await new Promise((resolve) => setImmediate(resolve));
        const ids = Array.from({ length: random.integer(1, settings.maxTokens) }, () => random.integer(97, 122) + 8);
        yield { request, ids, logprobs: ids.map(() => -1), finish: "length" };
      }
    },
    close: async () => {},
  };
  const renderer = characterRenderer((messageCount) => messageCount % 5 === 0);
  return samplerPolicy({ name: "sampled", sampler: () => sampler, renderer, maxLength: 60 });
}
