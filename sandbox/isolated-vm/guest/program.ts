import { createGuest } from "./guest.ts";
import { createInspect } from "./inspect.ts";
import { createPlainCodec } from "./plain-codec.ts";
import { createStandIns } from "./stand-ins.ts";

const makers = `const makers = { createPlainCodec: ${createPlainCodec}, createInspect: ${createInspect} };`;

/** Makes a guest of `$0` (send) and `$1` (its options as text): the body of a function. */
export const guestProgram: string = `"use strict"; ${makers} return (${createGuest})($0, $1, makers);`;

/** Makes what a judge sees of the code of `$0` (the way to it) and `$1` (the names): the body of a function. */
export const judgeProgram: string = `"use strict"; ${makers} return (${createStandIns})($0, $1, makers);`;
