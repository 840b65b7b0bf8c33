import { LyceumError } from "../../contract/errors/lyceum-error.ts";
import type { Message, PartType } from "../../contract/message.ts";

/** Throws `policy.unsupported-input` if a message has a part that the renderer cannot express. */
export function assertExpressible(options: {
  readonly renderer: string;
  readonly accepts: readonly PartType[];
  readonly messages: readonly Message[];
}): void {
  for (const message of options.messages) {
    for (const part of message.content) {
      if (options.accepts.includes(part.type)) continue;
      throw new LyceumError({
        code: "policy.unsupported-input",
        message: `The renderer "${options.renderer}" cannot express a part of type "${part.type}" (in a ${message.role} message).`,
        hint: `It accepts ${options.accepts.join(" and ")} parts: remove the others, or use a model that accepts them.`,
      });
    }
  }
}
