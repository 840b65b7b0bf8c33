import { render } from "preact";
import { type ExportedRun, exportedSource } from "../exported-run.ts";
import { App } from "./app.tsx";
import { serverSource } from "./server-source.ts";

const exported = document.getElementById("exported-run")?.textContent;
const source = exported == null ? serverSource : exportedSource(JSON.parse(exported) as ExportedRun);
render(<App source={source} live={exported == null} />, document.getElementById("page")!);
