export { checkEnvironmentLaws } from "./environment-laws.ts";
