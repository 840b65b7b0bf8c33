export type { Json } from "./json.ts";
