export { fromErrorData, toErrorData } from "./error-data.ts";
export { invalidConfig } from "./invalid-config.ts";
export { type ErrorCode, type ErrorData, LyceumError, type LyceumErrorOptions } from "./lyceum-error.ts";
export { unknownNameError } from "./unknown-name.ts";
