import { LyceumError } from "../../contract/errors/index.ts";
import { type Message, textMessage } from "../../contract/message.ts";
import { type Prompt, promptMessages } from "../../contract/prompt.ts";
import { quoted, quotedRule } from "./quoted.ts";

/**
 * Fills the placeholders of a template, such as `{text}` and `{task.question}`, with quoted values. Other braces stay as
 * they are. Throws `config.invalid` for a placeholder without a value.
 */
export function filledTemplate(template: string, context: object): string {
  return template.replace(/\{([a-zA-Z_]\w*(?:\.\w+)*)\}/g, (_, path: string) => {
    const names = path.split(".");
    let value: unknown = context;
    for (const name of names) {
      value =
        typeof value === "object" && value !== null && Object.hasOwn(value, name) ? (value as never)[name] : undefined;
    }
    if (value === undefined) throw missingValue(path, context);
    return quoted(names.at(-1)!, typeof value === "string" ? value : JSON.stringify(value));
  });
}

/** Appends to a prompt that quoted texts are data, not instructions, and the form of the answer. */
export function judgeMessages(prompt: Prompt, instruction: string | undefined): readonly Message[] {
  const messages = promptMessages(prompt);
  const last = messages.at(-1);
  const rest = [quotedRule, ...(instruction === undefined ? [] : [instruction])].join("\n\n");
  if (last?.role !== "user") return [...messages, textMessage("user", rest)];
  return [...messages.slice(0, -1), { ...last, content: [...last.content, { type: "text", text: `\n\n${rest}` }] }];
}

function missingValue(path: string, context: object): LyceumError {
  const known = Object.keys(context).filter((name) => !["signal", "judge"].includes(name));
  return new LyceumError({
    code: "config.invalid",
    message: `The judge's prompt has the placeholder {${path}}, which has no value.`,
    hint: `It can name: ${known.map((name) => `{${name}}`).join(", ")}, and their keys, such as {task.question}.`,
    data: { placeholder: path },
  });
}
