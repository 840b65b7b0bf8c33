import type { TinkerDatum } from "../protocol/pass-request.ts";
import type { RecordedSequence } from "./recorded-sequences.ts";
import { RequestError } from "./request-error.ts";

/** The records of the targets of a datum. */
export interface RecordedTargets {
  /** The log-probability under the policy that sampled the target. 0 for a target that was not sampled. */
  readonly logprobs: Float32Array;
  /** 1 for a sampled target, else 0. */
  readonly sampled: Float32Array;
}

/**
 * Finds the sampled targets of a datum by its provenance spans. Throws `RequestError` 400 if the spans do not cover the
 * targets, name an unknown sequence, or have a target that differs from the recorded token.
 */
export function recordedTargets(
  { targetSpans, lossInputs }: TinkerDatum,
  {
    index,
    recorded,
  }: { readonly index: number; readonly recorded: (sequenceId: string) => RecordedSequence | undefined },
): RecordedTargets {
  const targets = lossInputs.target_tokens!.data;
  const refuse = (problem: string): never => {
    throw new RequestError(400, `Datum ${index} ${problem}`);
  };
  if (targetSpans === undefined || targetSpans.length === 0) {
    return refuse(
      "has no provenance of its loss_fn_inputs. Sample with record_stability_info and use with_provenance.",
    );
  }
  const covered = targetSpans.reduce((sum, { length }) => sum + length, 0);
  if (covered !== targets.length) refuse(`has provenance of ${covered} targets, but ${targets.length} targets.`);
  const logprobs = new Float32Array(targets.length);
  const sampled = new Float32Array(targets.length);
  let start = 0;
  for (const { source, sequenceId, offset, length } of targetSpans) {
    if (source === "sampled" && length > 0) {
      const sequence = recorded(sequenceId);
      if (sequence === undefined) {
        return refuse(`names the sequence ${sequenceId}, which was not recorded in this session or has expired.`);
      }
      for (let t = 0; t < length; t++) {
        const found = sequence.tokens[offset + t];
        if (found !== targets[start + t]) {
          const target = `has the target ${targets[start + t]} at ${start + t}`;
          refuse(`${target}, but token ${offset + t} of ${sequenceId} is ${found ?? "missing"}.`);
        }
        logprobs[start + t] = sequence.logprobs[offset + t]!;
        sampled[start + t] = 1;
      }
    }
    start += length;
  }
  return { logprobs, sampled };
}
