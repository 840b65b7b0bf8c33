import { LyceumError } from "../../../contract/errors/index.ts";
import { withoutUrlSecrets } from "../../text/secrets.ts";

/** Returns the URL of an API path below `baseUrl`. Throws `config.invalid` if `baseUrl` is not a valid URL. */
export function apiUrl(baseUrl: string, path: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    throw invalidUrl(
      `"${withoutUrlSecrets(baseUrl)}" is not the URL of a server.`,
      "Use a URL such as http://127.0.0.1:8000/v1.",
    );
  }
  if (base.username !== "" || base.password !== "") {
    throw invalidUrl(`The URL of ${base.host} contains a password.`, "Pass it as apiKey or as a header.");
  }
  base.pathname = `${base.pathname.replace(/\/+$/, "")}/${path}`;
  return base;
}

function invalidUrl(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
