import { test } from "vitest";
import { killEvaluation } from "../cli/killed-evaluation.ts";

test("an evaluation that is killed twenty times and resumed comes to what an uninterrupted one does", () =>
  killEvaluation({ kills: 20, seed: 2 }));
