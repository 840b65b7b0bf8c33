import { createPyodideSandbox } from "../../sandbox/pyodide/create-pyodide-sandbox.ts";
import { describeSandbox } from "./describe-sandbox.ts";

describeSandbox({ name: "Pyodide", open: createPyodideSandbox, languages: ["python"] });
