import type { JSX } from "preact";
import { formatCount, formatNumber } from "../../../core/text/format.ts";
import type { TrainingView } from "../view-source.ts";
import { Text } from "./parts.tsx";

/** Sampled completions, each with its prompt. */
export function Samples({ samples }: Pick<TrainingView, "samples">): JSX.Element | null {
  if (samples.length === 0) return null;
  return (
    <details class="section" open>
      <summary>
        <h2>Samples</h2> <span class="soft">the last {samples.length}</span>
      </summary>
      <div class="samples">
        {samples.map((sample, index) => (
          <Sample key={`${sample.step} ${index}`} sample={sample} />
        ))}
      </div>
    </details>
  );
}

type ShownSample = TrainingView["samples"][number];

/** A completion with its prompt. Without a step, it is from before the first step. */
export function Sample(props: {
  readonly sample: Pick<ShownSample, "prompt" | "completion"> & Partial<ShownSample>;
}): JSX.Element {
  const { sample } = props;
  const { step, agent, prompt, messages, completion, reward, demonstration } = sample;
  return (
    <article class="sample">
      <header>
        {step !== undefined && <span>step {formatCount(step)}</span>}
        {agent !== undefined && (
          <span>
            <Text>{agent}</Text>
          </span>
        )}
        {reward !== undefined && <span>reward {formatNumber(reward)}</span>}
        {demonstration === true && <span>demonstration</span>}
      </header>
      {(messages ?? [{ role: "prompt", text: prompt }]).map(({ role, text }, index) => (
        <div key={index}>
          <span>
            <Text>{role}</Text>
          </span>
          <pre class="soft">
            <Text>{text}</Text>
          </pre>
        </div>
      ))}
      <div class="completion">
        <span>{messages === undefined ? "completion" : "assistant"}</span>
        <pre>
          <Text>{completion === "" ? "(empty)" : completion}</Text>
        </pre>
      </div>
    </article>
  );
}
