import { createRandom, deriveSeed } from "../../../src/core/random/random.ts";

/** One game with a secret that the prompt does not name. */
export interface SecretGame<Secret> {
  readonly secret: Secret;
  /** The number of the game. No two games of `train` and `test` have the same one. */
  readonly game: number;
}

/**
 * Returns one game for each secret, in random order. Both splits have all secrets. The prompts of all games are equal, so
 * the model cannot memorize which game has which secret. It would learn not to guess a secret that is never right in `train`.
 */
export function secretGames<Secret>(secrets: readonly Secret[], split: string): SecretGame<Secret>[] {
  const first = split === "test" ? secrets.length : 0;
  return createRandom(deriveSeed(0, split))
    .shuffle(secrets)
    .map((secret, place) => ({ secret, game: first + place }));
}
