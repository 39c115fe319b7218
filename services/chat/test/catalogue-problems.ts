import { Catalogue, CatalogueError } from '../src/catalogue/catalogue.ts';

/** The problems that the message of a `CatalogueError` lists; none where nothing is thrown. */
export function problemsIn(work: () => unknown): string[] {
  try {
    work();
    return [];
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim());
  }
}

/** Those of a catalogue with these providers and models. */
export function problemsOf(providers: unknown, models: unknown): string[] {
  return problemsIn(() => Catalogue.parse({ providers, models }));
}
