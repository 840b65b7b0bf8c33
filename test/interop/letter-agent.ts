// An agent of the AI SDK with two tools, as a program of its own. It knows only the address and the key of its model.
// Its tools write letters on a sheet, and the sheet is its answer. LETTER_LOG lists the uses of the tools.
import { appendFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, tool } from "ai";
import { z } from "zod";

const { OPENAI_BASE_URL, OPENAI_API_KEY, LETTER_LOG } = process.env;
const { messages } = JSON.parse(await text(process.stdin)) as { messages: [{ content: [{ text: string }] }] };
const sheet: string[] = [];
const write = (letter: string): string => {
  sheet.push(letter);
  appendFileSync(LETTER_LOG!, `${process.pid} ${letter}\n`);
  return sheet.join("");
};

await generateText({
  model: createOpenAI({ baseURL: OPENAI_BASE_URL!, apiKey: OPENAI_API_KEY! }).chat("any"),
  prompt: messages[0].content[0].text,
  tools: {
    vowel: tool({ description: "Writes a vowel.", inputSchema: z.object({}), execute: () => write("a") }),
    consonant: tool({ description: "Writes a consonant.", inputSchema: z.object({}), execute: () => write("b") }),
  },
  stopWhen: isStepCount(4),
  maxRetries: 0,
});
process.stdout.write(sheet.join(""));
