import type { JSX } from "preact";
import type { RecordedCall } from "../../../src/contract/episode.ts";
import { formatCount } from "../../../src/core/text/format-numbers.ts";
import { MessageView } from "./message-view.tsx";

/** The model calls that led to an action, closed at first. A call shows the messages that it adds to the earlier one. */
export function ModelCalls(props: {
  readonly calls: readonly RecordedCall[];
  /** They are open, because they may contain the searched text. */
  readonly unfolded: boolean;
}): JSX.Element {
  const { calls, unfolded } = props;
  return (
    <details class="model-calls" open={unfolded}>
      <summary>{calls.length === 1 ? "1 model call" : `${formatCount(calls.length)} model calls`}</summary>
      {calls.map(({ continues, messages, answer, finish, completion, prompt }, index) => (
        <div key={index}>
          <p class="break">
            {[
              `call ${index + 1}`,
              continues === undefined ? "a new conversation" : `continues call ${continues + 1}`,
              continues !== undefined && prompt?.startsSequence
                ? "its tokens do not extend those of that call"
                : undefined,
              finish === "length" ? "ended by length" : undefined,
              completion === undefined ? undefined : `${formatCount(completion.ids.length)} tokens`,
            ]
              .filter((part) => part !== undefined)
              .join(" · ")}
          </p>
          {[...messages, answer].map((message, place) => (
            <MessageView key={place} message={message} tokens={undefined} unfolded={unfolded} />
          ))}
        </div>
      ))}
    </details>
  );
}
