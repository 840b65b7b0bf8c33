import { expect, test, vi } from "vitest";
import { mcpTools } from "../../../src/core/tools/mcp-tools.ts";

vi.mock("@modelcontextprotocol/client", () => {
  throw new Error("Cannot find package '@modelcontextprotocol/client'");
});

test("without the package, the error names it and the command to install it", async () => {
  await expect(mcpTools({ url: "http://127.0.0.1:1" })).rejects.toMatchObject({
    code: "config.invalid",
    message: expect.stringContaining("@modelcontextprotocol/client"),
    hint: expect.stringContaining("npm install @modelcontextprotocol/client"),
  });
});
