import { setTimeout as pause } from "node:timers/promises";
import { message, RawClient } from "../server/openenv/raw-client.ts";

/** A session that makes a step every 100 ms during an attack. The answer of each step must be the next number. */
export interface HealthySession extends AsyncDisposable {
  /** The number of steps so far. */
  played(): number;
  /** Ends the session and returns the number of steps. Throws if an answer was wrong. */
  steps(): Promise<number>;
}

/** Starts a session of the soak tests' environment. */
export async function healthySession(url: string, headers: Record<string, string> = {}): Promise<HealthySession> {
  const client = await RawClient.connect(`${url}/ws`, headers);
  await client.send(message("reset", {}));
  let steps = 0;
  let ended = false;
  const play = async (): Promise<void> => {
    while (!ended) {
      const { type, data } = await client.send(message("step", { text: "hello" }));
      steps += 1;
      const text = data?.observation?.text;
      if (type !== "observation" || text !== String(steps)) throw new Error(`Step ${steps}: ${JSON.stringify(data)}`);
      client.received.length = 0;
      await pause(100);
    }
  };
  const lost = client.closed.then((code) => {
    if (!ended) throw new Error(`The healthy session was closed with ${code} after ${steps} steps.`);
  });
  lost.catch(() => {});
  const playing = Promise.race([play(), lost]);
  playing.catch(() => {});
  return {
    played: () => steps,
    steps: async () => {
      ended = true;
      await playing;
      return steps;
    },
    [Symbol.asyncDispose]: async () => {
      ended = true;
      await client[Symbol.asyncDispose]();
    },
  };
}
