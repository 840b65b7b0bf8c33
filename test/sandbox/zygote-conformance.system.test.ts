import { describeSandbox } from "./describe-sandbox.ts";
import { zygoteBackends } from "./zygote-backends.ts";

for (const { name, open, missing } of zygoteBackends) {
  describeSandbox({ name, open, languages: ["python"], missing });
}
