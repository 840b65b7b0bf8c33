import { LyceumError } from "../../../contract/errors/index.ts";
import { withoutUrlSecrets } from "../../text/url-secrets.ts";

/** A path of the API that begins at `baseUrl`. Throws `config.invalid` for what is no address. */
export function apiUrl(baseUrl: string, path: string): URL {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (base === undefined || !/^https?:$/.test(base.protocol)) {
    throw invalidUrl(`"${withoutUrlSecrets(baseUrl)}" is no address of a server.`, "Such as http://127.0.0.1:8000/v1.");
  }
  if (base.username !== "" || base.password !== "") {
    throw invalidUrl(`The address of ${base.host} holds a password.`, "Give it as apiKey, or as a header.");
  }
  base.pathname = `${base.pathname.replace(/\/+$/, "")}/${path}`;
  return base;
}

function invalidUrl(message: string, hint: string): LyceumError {
  return new LyceumError({ code: "config.invalid", message, hint });
}
