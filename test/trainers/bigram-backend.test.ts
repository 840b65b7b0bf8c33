import { describeBackend } from "./backend-conformance.ts";
import { createBigramBackend } from "./bigram-backend.ts";

describeBackend({
  name: "bigram backend",
  createBackend: createBigramBackend,
  specs: { full: { source: { type: "scratch", config: {}, seed: 0 }, trainable: { type: "full" } } },
  tolerance: 1e-6,
});
