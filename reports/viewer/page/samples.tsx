import { Fragment, type JSX } from "preact";
import { formatCount } from "../../../src/core/text/format-numbers.ts";
import { sampleRewards } from "../../training/sample-text.ts";
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
  const { step, prompt, messages, completion, conversation, demonstration } = sample;
  return (
    <article class="sample">
      <header>
        {step !== undefined && <span>step {formatCount(step)}</span>}
        {sampleRewards(sample).map((text) => (
          <span key={text}>
            <Text>{text}</Text>
          </span>
        ))}
        {demonstration === true && <span>demonstration</span>}
      </header>
      {conversation === undefined ? (
        <>
          {(messages ?? [{ role: "prompt", text: prompt }]).map(({ role, text }, index) => (
            <SampleText key={index} label={role} text={text} />
          ))}
          <SampleText label={messages === undefined ? "completion" : "assistant"} text={completion} isAction={true} />
        </>
      ) : (
        conversation.map(({ turn, author, readers, text }, index) => (
          <Fragment key={index}>
            {turn !== conversation[index - 1]?.turn && <p class="break">turn {turn + 1}</p>}
            <SampleText
              label={author ?? `to ${readers?.join(", ") ?? ""}`}
              text={text}
              isAction={author !== undefined}
            />
          </Fragment>
        ))
      )}
    </article>
  );
}

function SampleText(props: {
  readonly label: string;
  readonly text: string;
  /** True if a model wrote it. */
  readonly isAction?: boolean;
}): JSX.Element {
  const { label, text, isAction = false } = props;
  return (
    <div class={isAction ? "completion" : undefined}>
      <span>
        <Text>{label}</Text>
      </span>
      <pre class={isAction ? undefined : "soft"}>
        <Text>{text === "" && isAction ? "(empty)" : text}</Text>
      </pre>
    </div>
  );
}
