import type { Message, ToolCall } from "../../src/contract/message.ts";

/**
 * Gives every tool call of a conversation an id, and every result that of its call. A call without an id (an empty
 * text) takes the id of its result if no call has that one, and else a new one. A result without an id belongs to the
 * first call of the last message with calls that has no result yet, of its own tool if it names one.
 */
export function withCallIds(messages: readonly Message[]): readonly Message[] {
  const given = messages.flatMap(({ toolCalls = [] }) => toolCalls.map(({ id }) => id));
  const used = new Set([...given, ...messages.map(({ toolCallId }) => toolCallId)]);
  let count = 0;
  const newId = (): string => {
    do count += 1;
    while (used.has(`call-${count}`));
    return `call-${count}`;
  };
  let open: { call: ToolCall; id: string }[] = [];
  const calls = new Map<ToolCall, { id: string }>();
  const results = new Map<Message, { id: string }>();
  for (const message of messages) {
    if (message.toolCalls !== undefined) {
      open = message.toolCalls.map((call) => ({ call, id: call.id }));
      for (const entry of open) calls.set(entry.call, entry);
    }
    if (message.role !== "tool") continue;
    const { toolCallId, name } = message;
    const isSame = ({ call, id }: (typeof open)[number]): boolean => {
      if (toolCallId !== undefined) return id === "" && !given.includes(toolCallId);
      return name === undefined || name === call.name;
    };
    const answered = open.find(({ id }) => id !== "" && id === toolCallId) ?? open.find(isSame);
    if (answered === undefined) continue;
    open = open.filter((entry) => entry !== answered);
    if (toolCallId !== undefined) answered.id = toolCallId;
    results.set(message, answered);
  }
  for (const entry of calls.values()) if (entry.id === "") entry.id = newId();
  return messages.map((message) => {
    const toolCallId = results.get(message)?.id ?? message.toolCallId;
    return {
      ...message,
      ...(message.toolCalls === undefined
        ? {}
        : { toolCalls: message.toolCalls.map((call) => ({ ...call, id: calls.get(call)!.id })) }),
      ...(toolCallId === undefined ? {} : { toolCallId }),
    };
  });
}
