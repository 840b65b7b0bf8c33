import { it } from "vitest";
import { killEvaluation } from "./killed-evaluation.ts";

it("an evaluation that is killed and resumed comes to what an uninterrupted one does", () =>
  killEvaluation({ kills: 3, seed: 1 }));
