import { it } from "vitest";
import { killEvaluation } from "./killed-evaluation.ts";

it("an evaluation that is killed and resumed has the result of an uninterrupted one", () =>
  killEvaluation({ kills: 3, seed: 1 }));
