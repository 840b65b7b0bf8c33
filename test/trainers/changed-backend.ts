import type { Model, TrainingBackend } from "../../trainers/backend/training-backend.ts";
import { createBigramBackend } from "./bigram-backend.ts";

/** A backend, by default the bigram one, whose models have some methods replaced. */
export function changedBackend(
  change: (model: Model) => Partial<Model>,
  backend: TrainingBackend = createBigramBackend(),
): TrainingBackend {
  return {
    ...backend,
    openModel: async (spec, options) => {
      const model = await backend.openModel(spec, options);
      const changes = change(model);
      return new Proxy(model, {
        get: (target, key) => {
          const replaced = (changes as Record<PropertyKey, unknown>)[key];
          if (replaced !== undefined) return replaced;
          const value: unknown = Reflect.get(target, key, target);
          return typeof value === "function" ? value.bind(target) : value;
        },
      });
    },
  };
}
