/** A message of a plain conversation. */
export interface PlainMessage {
  readonly role: "system" | "user" | "assistant";
  readonly text: string;
}

/** The protocols that {@link ask} speaks. */
export const protocols = ["chat", "responses", "messages"] as const;

/** One of {@link protocols}. */
export type Protocol = (typeof protocols)[number];

/** Sends a conversation in a protocol, by plain HTTP, and returns the status and the answer's text. */
export async function ask(options: {
  readonly url: string;
  readonly key: string;
  readonly protocol: Protocol;
  readonly messages: readonly PlainMessage[];
  readonly maxTokens?: number;
  readonly signal?: AbortSignal;
}): Promise<{ readonly status: number; readonly text: string }> {
  const { url, key, protocol, messages, maxTokens = 8, signal } = options;
  const { path, body, headers, read } = requestOf({ key, protocol, messages, maxTokens });
  const response = await fetch(`${url}/v1/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the body has the form of the protocol.
  const answer = (await response.json()) as any;
  return { status: response.status, text: response.ok ? read(answer) : JSON.stringify(answer) };
}

interface Sent {
  readonly path: string;
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: the body has the form of the protocol.
  readonly read: (answer: any) => string;
}

function requestOf(options: {
  readonly key: string;
  readonly protocol: Protocol;
  readonly messages: readonly PlainMessage[];
  readonly maxTokens: number;
}): Sent {
  const { key, protocol, messages, maxTokens } = options;
  const bearer = { authorization: `Bearer ${key}` };
  const turns = messages.map(({ role, text }) => ({ role, content: text }));
  if (protocol === "chat") {
    return {
      path: "chat/completions",
      body: { model: "m", messages: turns, max_tokens: maxTokens },
      headers: bearer,
      read: ({ choices }) => choices[0].message.content,
    };
  }
  if (protocol === "responses") {
    return {
      path: "responses",
      body: { model: "m", input: turns, max_output_tokens: maxTokens },
      headers: bearer,
      read: ({ output }) => output[0].content[0].text,
    };
  }
  const system = messages[0]?.role === "system" ? { system: messages[0].text } : {};
  return {
    path: "messages",
    body: { model: "m", ...system, messages: turns.filter(({ role }) => role !== "system"), max_tokens: maxTokens },
    headers: { "x-api-key": key },
    read: ({ content }) => content[0].text,
  };
}
