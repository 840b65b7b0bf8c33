import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { describeConformance } from "./conformance.ts";

describeConformance({ name: "isolated-vm", open: createIsolatedVmSandbox, languages: ["javascript", "typescript"] });
