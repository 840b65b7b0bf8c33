// A program that calls its model and then does what its prompt says. AGENT_LOG lists its processes.
import { appendFileSync } from "node:fs";
import { text } from "node:stream/consumers";

const { OPENAI_BASE_URL, OPENAI_API_KEY, AGENT_LOG } = process.env;
const { messages } = JSON.parse(await text(process.stdin)) as { messages: [{ content: [{ text: string }] }] };
const wanted = messages[0].content[0].text;

async function ask(question: string, options: object = {}): Promise<void> {
  const response = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${OPENAI_API_KEY}` },
    body: JSON.stringify({ model: "any", messages: [{ role: "user", content: question }], ...options }),
  });
  process.stderr.write(`${response.status}\n`);
}

appendFileSync(AGENT_LOG!, `${process.pid}\n`);
if (wanted !== "call nothing") await ask(wanted, wanted === "stop" ? { stop: ["x"] } : {});
if (wanted === "fail") throw new Error("It is broken.");
if (wanted === "hang") await new Promise(() => setInterval(() => {}, 1_000));
if (wanted === "call twice") await ask("Another conversation.");
process.stdout.write("aab\n");
