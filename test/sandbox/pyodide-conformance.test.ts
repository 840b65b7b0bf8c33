import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import { describeConformance } from "./conformance.ts";

describeConformance({ name: "Pyodide", open: createPyodideSandbox, languages: ["python"] });
