import type { ActResult, Policy } from "../../contract/policy.ts";
import type { AgentRecorder } from "./agent-recorder.ts";
import { askPolicy } from "./ask-policy.ts";
import type { InterruptibleRun } from "./interruptible-run.ts";
import { actTimeout, policyFailure } from "./rollout-error.ts";
import type { EpisodePosition, RunSettings } from "./run-settings.ts";
import { TurnRequests } from "./turn-requests.ts";

/** One of several requests, and its answer. */
export interface Ask<Task> {
  readonly recorder: AgentRecorder;
  readonly position: EpisodePosition<Task>;
  readonly turn: number;
  answer?: { readonly result: ActResult } | { readonly error: unknown };
}

/**
 * Sends independent requests and waits until each was answered, failed or timed out. For batching policies, the timeout
 * starts with their batch.
 */
export async function askAll<Task>(
  asks: readonly Ask<Task>[],
  { settings, run }: { readonly settings: RunSettings<Task>; readonly run: InterruptibleRun },
): Promise<void> {
  const { barrier, limits } = settings;
  const { promise: answered, resolve: allAnswered } = Promise.withResolvers<void>();
  let open = asks.length;
  const answer = (ask: Ask<Task>, value: NonNullable<Ask<Task>["answer"]>): void => {
    if (ask.answer !== undefined) return;
    ask.answer = value;
    open -= 1;
    if (open === 0) allAnswered();
  };
  const onTime = (): void => {
    const late = asks.filter((ask) => ask.answer === undefined);
    const recorders = [...new Map(late.map(({ recorder }) => [recorder.agent, recorder])).values()];
    const error = actTimeout(recorders, limits.actMs);
    for (const ask of late) answer(ask, { error });
    run.dismiss();
  };
  const onError = (thrown: unknown, policy: Policy): void => {
    const error = policyFailure(policy, "flush", thrown);
    for (const ask of asks) if (ask.recorder.policy === policy) answer(ask, { error });
  };
  const startClock = (): void => run.startClock(limits.actMs, onTime);
  const requests =
    barrier === undefined
      ? undefined
      : new TurnRequests({ barrier, onHeld: () => run.stopClock(), onFlush: startClock, onError });
  try {
    for (const ask of asks) {
      askPolicy({ settings, ...ask, signal: run.signal, requests }).then(
        (result) => answer(ask, { result }),
        (error) => answer(ask, { error }),
      );
    }
    startClock();
    requests?.start();
    await run.wait(answered);
  } finally {
    run.stopClock();
    requests?.end();
  }
}
