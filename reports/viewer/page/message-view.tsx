import type { JSX } from "preact";
import type { Json } from "../../../src/contract/json.ts";
import { type Message, type Part, textOf } from "../../../src/contract/message.ts";
import { Fold } from "./fold.tsx";
import { JsonView } from "./json-view.tsx";
import { messageSegments, type Segment, tokensWithin } from "./message-segments.ts";
import { Text } from "./parts.tsx";
import { type ShownToken, TokenText } from "./token-text.tsx";

/** The image types that a browser draws without running scripts. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Prompts beyond this number of characters are folded, because tool specifications fill pages. */
const longestRead = 1_500;

/**
 * A message: its author, its parts, and its tool calls, whether native or in tags. If it has tokens, they replace its
 * text. If the tokens include more than the text (a whole completion with reasoning and calls), they replace
 * everything. `agents` are its authors or readers, if there are several agents.
 */
export function MessageView(props: {
  readonly message: Message;
  readonly tokens: readonly ShownToken[] | undefined;
  readonly agents?: readonly string[];
  /** Nothing is folded, because it may contain the searched text. */
  readonly unfolded: boolean;
}): JSX.Element {
  const { message, tokens, agents, unfolded } = props;
  const { role, content, toolCalls = [], toolCallId, name } = message;
  const written = tokens?.map(({ text }) => text).join("");
  const areText = written === textOf(message);
  const parts = tokens === undefined ? content : areText ? content.filter(({ type }) => type !== "text") : [];
  const segments = written === undefined ? [] : messageSegments(written, role);
  const hasCalls = segments.some(({ kind }) => kind === "call");
  const isLong = role !== "assistant" && textOf(message).length > longestRead;
  return (
    <article class={`message ${role}`}>
      <header>
        {agents === undefined ? (
          role
        ) : (
          <b>
            {role !== "assistant" && "to "}
            <Text>{agents.join(", ")}</Text>
          </b>
        )}
        {agents !== undefined && role !== "assistant" && role !== "user" && <span class="soft">{role}</span>}
        {(name ?? toolCallId) !== undefined && (
          <span class="soft">
            <Text>{name ?? toolCallId ?? ""}</Text>
          </span>
        )}
      </header>
      <div>
        <Fold isLong={isLong} open={unfolded}>
          {parts.map((part, index) => (
            <PartView key={index} part={part} role={role} />
          ))}
          {tokens !== undefined &&
            segments.map((segment) => (
              <SegmentView key={segment.from} segment={segment} tokens={tokensWithin(tokens, segment)} />
            ))}
          {content.length === 0 && toolCalls.length === 0 && tokens === undefined && <p class="soft">empty</p>}
          {(tokens === undefined || areText || !hasCalls) &&
            toolCalls.map((call) => <CallView key={call.id} name={call.name} given={call.arguments} />)}
        </Fold>
      </div>
    </article>
  );
}

function SegmentView(props: { readonly segment: Segment; readonly tokens?: readonly ShownToken[] }): JSX.Element {
  const { segment, tokens } = props;
  const own = tokens === undefined ? undefined : <TokenText tokens={tokens} />;
  if (segment.kind === "call")
    return <CallView name={segment.name} given={segment.arguments} text={segment.text} written={own} />;
  if (segment.kind === "result") {
    return (
      <div class="call result">
        <p class="soft">
          result
          {segment.name !== undefined && (
            <>
              {" of "}
              <b>
                <Text>{segment.name}</Text>
              </b>
            </>
          )}
        </p>
        <pre>
          <Text>{segment.text}</Text>
        </pre>
      </div>
    );
  }
  return (
    own ?? (
      <pre class="text">
        {/* The line break after a result is not shown as a blank line. */}
        <Text>{segment.from > 0 ? segment.text.replace(/^\n+/, "") : segment.text}</Text>
      </pre>
    )
  );
}

/** A tool call. An invalid one is shown as the model wrote it. `written` shows it token by token. */
function CallView(props: {
  readonly name: string | undefined;
  readonly given: Json | undefined;
  readonly text?: string;
  readonly written?: JSX.Element | undefined;
}): JSX.Element {
  const { name, given, text = "", written } = props;
  const isBroken = name === undefined || given === undefined;
  return (
    <div class={`call ${isBroken ? "broken" : ""}`}>
      <p class="soft">
        {isBroken ? "call that cannot be read" : "call"}{" "}
        {name !== undefined && (
          <b>
            <Text>{name}</Text>
          </b>
        )}
      </p>
      {written ??
        (isBroken ? (
          <pre>
            <Text>{text}</Text>
          </pre>
        ) : (
          <JsonView value={given} />
        ))}
    </div>
  );
}

function PartView({ part, role }: { readonly part: Part; readonly role: Message["role"] }): JSX.Element {
  if (part.type === "image") {
    const { mediaType, data } = part;
    return imageTypes.has(mediaType) && /^[\w+/=-]*$/.test(data) ? (
      <img src={`data:${mediaType};base64,${data}`} alt="" />
    ) : (
      <p class="soft">
        an image of type <Text>{mediaType}</Text>
      </p>
    );
  }
  if (part.type === "text") {
    return (
      <div>
        {messageSegments(part.text, role).map((segment) => (
          <SegmentView key={segment.from} segment={segment} />
        ))}
      </div>
    );
  }
  return (
    <pre class={part.type}>
      <Text>{part.text}</Text>
    </pre>
  );
}
