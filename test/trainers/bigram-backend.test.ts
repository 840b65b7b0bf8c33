import { createBigramBackend } from "./bigram-backend.ts";
import { describeBackend } from "./describe-backend.ts";

describeBackend("bigram backend", {
  create: createBigramBackend,
  specs: { full: { source: { type: "scratch", config: {}, seed: 0 }, trainable: { type: "full" } } },
  tolerance: 1e-6,
});
