import { createAssert } from "./assert.ts";
import { createErrors } from "./errors.ts";
import { createGuest, type GuestMakers } from "./guest.ts";
import { createInspect } from "./inspect.ts";
import { createModules } from "./modules.ts";
import { createOutput } from "./output.ts";
import { createPlainCodec } from "./plain-codec.ts";
import { createStandIns, type JudgeMakers } from "./stand-ins.ts";
import { createTimers } from "./timers.ts";

const makers: GuestMakers = {
  createErrors,
  createInspect,
  createModules,
  createOutput,
  createPlainCodec,
  createTimers,
};
const judgeMakers: JudgeMakers = { createAssert, createInspect, createPlainCodec };
const sourceOf = (functions: object): string =>
  `const makers = { ${Object.entries(functions)
    .map(([name, value]) => `${name}: ${value}`)
    .join(", ")} };`;

/** Makes a guest of `$0` (send) and `$1` (its options as text): the body of a function. */
export const guestProgram: string = `"use strict"; ${sourceOf(makers)} return (${createGuest})($0, $1, makers);`;

/** Makes what a judge sees of the code of `$0` (the way to it) and `$1` (the names): the body of a function. */
export const judgeProgram: string = `"use strict"; ${sourceOf(judgeMakers)} return (${createStandIns})($0, $1, makers);`;
