import { createRegistry, type DescFile, type DescService, type Registry, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code, type ConnectRouter } from "@connectrpc/connect";
import * as v1 from "./generated/grpc/reflection/v1/reflection_pb.ts";
import * as v1alpha from "./generated/grpc/reflection/v1alpha/reflection_pb.ts";

type Question = v1.ServerReflectionRequest["messageRequest"] | v1alpha.ServerReflectionRequest["messageRequest"];
/** An answer of both versions. */
type Answer =
  | { case: "listServicesResponse"; value: { service: { name: string }[] } }
  | { case: "fileDescriptorResponse"; value: { fileDescriptorProto: Uint8Array[] } }
  | { case: "allExtensionNumbersResponse"; value: { baseTypeName: string; extensionNumber: number[] } }
  | { case: "errorResponse"; value: { errorCode: number; errorMessage: string } };

/**
 * Adds the standard reflection service of gRPC in both of its versions, so that clients such as grpcurl and Postman list
 * the methods of `services` and of reflection itself.
 */
export function addReflection(router: ConnectRouter, services: readonly DescService[]): void {
  const described = [...services, v1.ServerReflection, v1alpha.ServerReflection];
  const answer = answers(described);
  async function* serverReflectionInfo<Request extends { readonly host: string; readonly messageRequest: Question }>(
    requests: AsyncIterable<Request>,
  ) {
    for await (const originalRequest of requests) {
      const { host: validHost, messageRequest } = originalRequest;
      yield { validHost, originalRequest, messageResponse: answer(messageRequest) };
    }
  }
  router.service(v1.ServerReflection, { serverReflectionInfo });
  router.service(v1alpha.ServerReflection, { serverReflectionInfo });
}

/** Returns the function that answers questions about services, and about all types of their files. */
function answers(services: readonly DescService[]): (question: Question) => Answer {
  const files = withImports(services.map(({ file }) => file));
  const registry = createRegistry(...files);
  const byName = new Map(files.map((file) => [`${file.name}.proto`, file]));
  const bySymbol = filesOfSymbols(registry);

  return ({ case: kind, value }) => {
    switch (kind) {
      case "listServices":
        return { case: "listServicesResponse", value: { service: services.map(({ typeName: name }) => ({ name })) } };
      case "fileByFilename":
        return fileAnswer(byName.get(value)) ?? unknown("file", value);
      case "fileContainingSymbol":
        return fileAnswer(bySymbol.get(value)) ?? unknown("symbol", value);
      case "fileContainingExtension": {
        const { containingType, extensionNumber } = value;
        const extended = registry.getMessage(containingType);
        const found = extended && registry.getExtensionFor(extended, extensionNumber);
        return fileAnswer(found?.file) ?? unknown("extension", `${containingType} ${extensionNumber}`);
      }
      case "allExtensionNumbersOfType": {
        if (registry.getMessage(value) === undefined) return unknown("message", value);
        const extensionNumber = [...registry].flatMap((type) =>
          type.kind === "extension" && type.extendee.typeName === value ? [type.number] : [],
        );
        return { case: "allExtensionNumbersResponse", value: { baseTypeName: value, extensionNumber } };
      }
      case undefined:
        return failed(Code.InvalidArgument, "The request asks for nothing.");
    }
  };
}

/** Returns files and all that they import, each once. */
function withImports(files: readonly DescFile[]): readonly DescFile[] {
  const found = new Set<DescFile>();
  const add = (file: DescFile): void => {
    if (found.has(file)) return;
    found.add(file);
    file.dependencies.forEach(add);
  };
  files.forEach(add);
  return [...found];
}

/** Returns the files of all full names: of types, methods, fields and values. */
function filesOfSymbols(registry: Registry): ReadonlyMap<string, DescFile> {
  const files = new Map<string, DescFile>();
  for (const type of registry) {
    const { typeName, file } = type;
    files.set(typeName, file);
    const add = (scope: string, members: readonly { readonly name: string }[]): void => {
      for (const { name } of members) files.set(`${scope}${name}`, file);
    };
    if (type.kind === "service") add(`${typeName}.`, type.methods);
    if (type.kind === "message") add(`${typeName}.`, [...type.fields, ...type.oneofs]);
    // As in C++, the names of an enumeration's values are in the scope of the enumeration.
    if (type.kind === "enum") add(typeName.slice(0, typeName.lastIndexOf(".") + 1), type.values);
  }
  return files;
}

function fileAnswer(file: DescFile | undefined): Answer | undefined {
  if (file === undefined) return undefined;
  const fileDescriptorProto = withImports([file]).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto } };
}

function unknown(kind: string, name: string): Answer {
  return failed(Code.NotFound, `There is no ${kind} "${name}".`);
}

function failed(errorCode: Code, errorMessage: string): Answer {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
