import { createIsolatedVmSandbox } from "../../sandbox/isolated-vm/isolated-vm-sandbox.ts";
import { describeSandbox } from "./describe-sandbox.ts";

describeSandbox({ name: "isolated-vm", open: createIsolatedVmSandbox, languages: ["javascript", "typescript"] });
