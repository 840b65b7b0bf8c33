import { z } from "zod";
import type { Json } from "../../src/contract/json.ts";
import type { Message, Role } from "../../src/contract/message.ts";
import { withCallIds } from "../conversations/call-ids.ts";
import {
  type ChatTurn,
  chatSideSchema,
  haveSameContent,
  haveSameReasoning,
  turnsOf,
  type UnknownKeyReport,
} from "../conversations/chat-message.ts";
import { inexactVariables, rowVariables } from "../conversations/conversation-task.ts";

/** A prompt with a chosen and a rejected answer. */
export interface PreferenceTask {
  readonly messages: readonly Message[];
  readonly chosen: Message;
  readonly rejected: Message;
  /** Variables of the model's chat template, for both answers. */
  readonly templateVariables?: Readonly<Record<string, Json>>;
}

/**
 * Returns the schema of a row `{ prompt, chosen, rejected }`, each a text or a list of messages. The prompt may be
 * named `messages`, and may be the common beginning of both answers instead of or in addition to its own field. Unknown
 * keys of the row are ignored, those of messages are reported.
 */
export function preferenceRowSchema(reportUnknown: UnknownKeyReport): z.ZodType<PreferenceTask> {
  const side = chatSideSchema(reportUnknown);
  return z
    .object({
      prompt: side.nullish(),
      messages: side.nullish(),
      chosen: side,
      rejected: side,
      chat_template_kwargs: rowVariables,
      chat_template_kwargsJson: inexactVariables,
    })
    .transform((row, context): PreferenceTask => {
      const refuse = (message: string, ...path: string[]): PreferenceTask => {
        context.addIssue({ code: "custom", message, path });
        return z.NEVER;
      };
      const given = row.prompt ?? row.messages;
      const [chosen, rejected] = [row.chosen, row.rejected].map((side) => messagesOf(side, "assistant"));
      const prompt = given == null ? commonBeginning(chosen!, rejected!) : messagesOf(given, "user");
      if (prompt.length === 0)
        return refuse("there is no prompt: neither prompt, nor messages, nor a common beginning");
      if (prompt.at(-1)!.role === "assistant") return refuse("the last message must not be the assistant's", "prompt");
      const answers = { chosen: answerTo(prompt, chosen!), rejected: answerTo(prompt, rejected!) };
      for (const [name, answer] of Object.entries(answers)) {
        if (answer === undefined)
          return refuse("must be one message of the assistant, after the prompt or alone", name);
      }
      for (const name of ["chosen", "rejected"] as const) {
        if (!turnsOf(row[name], "assistant").at(-1)!.isLearnt)
          return refuse("both answers are learnt: remove weight: 0 or train: false", name);
      }
      if (haveSameReasoning(answers.chosen!, answers.rejected!))
        return refuse("says the same as the chosen answer", "rejected");
      const whole = [answers.chosen!, answers.rejected!].map((answer) => withCallIds([...prompt, answer]));
      const [chosenAnswer, rejectedAnswer] = whole.map((messages) => messages.at(-1)!);
      const task = { messages: whole[0]!.slice(0, -1), chosen: chosenAnswer!, rejected: rejectedAnswer! };
      const templateVariables = row.chat_template_kwargs;
      return templateVariables === undefined ? task : { ...task, templateVariables };
    });
}

function messagesOf(side: string | readonly ChatTurn[], role: Role): readonly Message[] {
  return turnsOf(side, role).map(({ message }) => message);
}

function commonBeginning(first: readonly Message[], second: readonly Message[]): readonly Message[] {
  const differ = first.findIndex((message, place) => !isMessage(message, second[place], haveSameReasoning));
  return first.slice(0, differ === -1 ? first.length : differ);
}

/** Returns the assistant message of an answer after the prompt, if it is the only one. */
function answerTo(prompt: readonly Message[], answer: readonly Message[]): Message | undefined {
  const repeats = prompt.every((message, place) => isMessage(message, answer[place], haveSameContent));
  const rest = repeats ? answer.slice(prompt.length) : answer;
  return rest.length === 1 && rest[0]!.role === "assistant" ? rest[0] : undefined;
}

function isMessage(first: Message, second: Message | undefined, isSame: typeof haveSameContent): boolean {
  return second !== undefined && first.role === second.role && isSame(first, second);
}
