import type { CodeError } from "../../execution.ts";
import type { Relay, ToChild } from "../protocol.ts";
import { receive, send } from "./channel.ts";
import type { Interpreter } from "./interpreter.ts";
import { isMemoryError, memoryError, type Stop, stopped } from "./stop.ts";

/** Answers a judge's questions about the loaded module. */
export function serve(interpreter: Interpreter, job: Extract<ToChild, { kind: "serve" }>): Stop {
  const { nonce, limits } = job;
  let room = limits.resultBytes;
  // While the code answers, it may call functions of the test.
  interpreter.answerWith((text) => {
    room -= text.length;
    if (room < 0) return "";
    send({ kind: "answer", nonce, text });
    return nextText() ?? "";
  });
  const lacking = interpreter.call("serve", JSON.stringify(job.exports), limits.depth, limits.resultBytes);
  if (typeof lacking !== "string") return stopped(interpreter, lacking);
  if (lacking !== "") {
    return { status: "load_error", error: { type: "NameError", message: `There is no "${lacking}" in it.` } };
  }
  send({ kind: "loaded", nonce });
  for (let question = nextText(); question !== undefined; question = nextText()) {
    const text = interpreter.call("answer", question);
    if (typeof text !== "string") return stopped(interpreter, text);
    room -= text.length;
    if (room < 0 || text === '{"too-large":true}') return { status: "result_limit" };
    if (interpreter.outOfMemory && text.includes('"type":"MemoryError"'))
      return { status: "memory", error: memoryError };
    send({ kind: "answer", nonce, text });
  }
  return { status: "ok" };
}

/** Runs trusted tests. The other side answers their questions. */
export function judge(interpreter: Interpreter, job: Extract<ToChild, { kind: "judge" }>): Stop {
  const { nonce, limits, seed, tests, setup } = job;
  interpreter.prepare({ files: {}, stdin: "", limits, seed });
  let over = false;
  interpreter.answerWith((text) => {
    if (over) return "";
    send({ kind: "ask", nonce, text });
    const answer = nextText();
    over = answer === undefined;
    return answer ?? "";
  });
  const prepared = interpreter.call("open_judge", setup, JSON.stringify(job.exports), limits.resultBytes, seed);
  if (typeof prepared !== "string") return stopped(interpreter, prepared);
  for (const [index, source] of tests.entries()) {
    if (over) break;
    const before = interpreter.cpuMs;
    // If the setup failed, all tests failed in the same way.
    const failed = `{"outcome":"raised","error":${prepared}}`;
    const text = prepared === "" ? interpreter.call("judge", source) : failed;
    if (typeof text !== "string") return stopped(interpreter, text);
    if (over) break;
    if (text.startsWith('{"type"')) return { status: "violation", error: JSON.parse(text) as CodeError };
    if (isMemoryError(text)) return { status: "memory", error: memoryError };
    send({ kind: "case", nonce, index, text, cpuMs: interpreter.cpuMs - before });
  }
  return { status: "ok" };
}

/** Returns the next text of the other side. Undefined if it has finished. */
function nextText(): string | undefined {
  const message = receive() as Relay | undefined;
  return message !== undefined && "text" in message ? message.text : undefined;
}
