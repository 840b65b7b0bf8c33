import { describeConformance } from "./conformance.ts";
import { zygoteBackends } from "./zygote-backends.ts";

for (const { name, open, missing } of zygoteBackends) {
  describeConformance({ name, open, languages: ["python"], missing });
}
