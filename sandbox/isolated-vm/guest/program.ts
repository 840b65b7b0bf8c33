import { createAssert } from "./assert.ts";
import { createConsoleTable } from "./console-table.ts";
import { createErrors } from "./errors.ts";
import { createGuest, type GuestMakers } from "./guest.ts";
import { createInspect } from "./inspect.ts";
import { createModules } from "./modules.ts";
import { createNodeCrypto } from "./node-crypto.ts";
import { createNodeInput } from "./node-input.ts";
import { createNodeModules } from "./node-modules.ts";
import { createNodeTypes } from "./node-types.ts";
import { createOutput } from "./output.ts";
import { createPlainCodec } from "./plain-codec.ts";
import { createStandIns, type JudgeMakers } from "./stand-ins.ts";
import { createTimers } from "./timers.ts";

const makers: Omit<GuestMakers, "global" | "nodeGlobals"> = {
  createErrors,
  createInspect,
  createModules,
  createOutput,
  createPlainCodec,
  createTimers,
};
const judgeMakers: Omit<JudgeMakers, "global"> = { createAssert, createInspect, createPlainCodec };
/** The global name of a program in its isolate. The program deletes it on its first call. */
export const programName = "lyceumProgram";

const nodeGlobals = [
  "Buffer",
  "URL",
  "URLSearchParams",
  "TextEncoder",
  "TextDecoder",
  "structuredClone",
  "performance",
  "crypto",
  "atob",
  "btoa",
];

const programOf = (functions: object, body: string): string => {
  const list = Object.entries(functions).map(([name, value]) => `${name}: ${value}`);
  const makers = `{ ${list.join(", ")}, nodeGlobals: ${JSON.stringify(nodeGlobals)}, global: "${programName}" }`;
  return `globalThis.${programName} = (() => { "use strict"; const makers = ${makers}; return ${body}; })();`;
};

/** A script that creates a guest: an {@link Enter}. */
export const guestProgram: string = programOf(makers, `(${createGuest})(makers)`);

/** An expression, sent to an isolate on demand: `createNodeModules`, with the makers that the guest does not have. */
export const nodeProgram: string = `((options) => { "use strict"; return (${createNodeModules})({
  ...options, createAssert: ${createAssert}, createInspect: ${createInspect}, createConsoleTable: ${createConsoleTable},
  createNodeCrypto: ${createNodeCrypto}, createNodeInput: ${createNodeInput}, createNodeTypes: ${createNodeTypes} }); })`;

/** A script that creates a function of `ask` and options. It gives a judge access to the code. */
export const judgeProgram: string = programOf(judgeMakers, `(ask, text) => (${createStandIns})(ask, text, makers)`);
