import type { JsonObject } from '../values.ts';

/** A public rule by which a provider refuses requests, by the model's name. */
export interface ProviderRule {
  id: string;
  /** A public page or report with the rule. */
  source: string;
  /** The day on which the page was read. */
  date: string;
  /** Why the provider refuses the request, in its words; null if it doesn't. */
  check: (body: JsonObject, model: string) => string | null;
}

/** The words of the first rule that a request breaks, with the rule's id and source; null if it breaks none. */
export function refusalBy(rules: readonly ProviderRule[], body: JsonObject, model: string): string | null {
  for (const { id, source, check } of rules) {
    const words = check(body, model);
    if (words !== null) return `${words} [rule ${id}: ${source}]`;
  }
  return null;
}
