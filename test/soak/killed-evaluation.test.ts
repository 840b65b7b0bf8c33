import { test } from "vitest";
import { killEvaluation } from "../cli/killed-evaluation.ts";

test("an evaluation that is killed twenty times and resumed gives the result of an uninterrupted one", () =>
  killEvaluation({ kills: 20, seed: 2 }));
