import type { JSX } from "preact";
import { type Message, type Part, textOf } from "../../message/message.ts";
import { JsonView } from "./json-view.tsx";
import { Text } from "./parts.tsx";
import { type ShownToken, TokenText } from "./token-text.tsx";

/** The kinds of image that a browser draws without running anything. */
const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/**
 * A message: who says it, its parts, and the tools that it calls. Its tokens take the place of its text; where they are
 * more than that (a whole completion, with its reasoning and calls as the model wrote them), of all of it.
 */
export function MessageView(props: {
  readonly message: Message;
  readonly tokens: readonly ShownToken[] | undefined;
}): JSX.Element {
  const { message, tokens } = props;
  const { role, content, toolCalls = [], toolCallId, name } = message;
  const areText = tokens?.map(({ text }) => text).join("") === textOf(message);
  const parts = tokens === undefined ? content : areText ? content.filter(({ type }) => type !== "text") : [];
  return (
    <article class={`message ${role}`}>
      <header>
        {role}
        {(name ?? toolCallId) !== undefined && (
          <span class="soft">
            <Text>{name ?? toolCallId ?? ""}</Text>
          </span>
        )}
      </header>
      <div>
        {parts.map(partView)}
        {tokens !== undefined && <TokenText tokens={tokens} />}
        {content.length === 0 && toolCalls.length === 0 && tokens === undefined && <p class="soft">empty</p>}
        {(tokens === undefined || areText) &&
          toolCalls.map((call) => (
            <div class="call" key={call.id}>
              <b>
                <Text>{call.name}</Text>
              </b>
              <JsonView value={call.arguments} />
            </div>
          ))}
      </div>
    </article>
  );
}

function partView(part: Part, index: number): JSX.Element {
  if (part.type === "image") {
    const { mediaType, data } = part;
    return imageTypes.has(mediaType) && /^[\w+/=-]*$/.test(data) ? (
      <img key={index} src={`data:${mediaType};base64,${data}`} alt="" />
    ) : (
      <p key={index} class="soft">
        an image of type <Text>{mediaType}</Text>
      </p>
    );
  }
  return (
    <pre key={index} class={part.type}>
      <Text>{part.text}</Text>
    </pre>
  );
}
