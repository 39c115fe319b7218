import { isProvidersChoice } from '@gatehouse/dialects/other-models';
import { maxNameLength } from '../bounds.ts';

/** Names of models: ids and aliases. An id with `*` at its end is a pattern. */

export function isPattern(id: string): boolean {
  return id.endsWith('*');
}

/** Whether `*`, if it is there at all, ends a text. */
export function isNameOrPattern(text: string): boolean {
  return !text.slice(0, -1).includes('*');
}

/** The id of the catalogue behind a name. */
export interface NameMatch {
  id: string;
  /** The part in place of `*`; null if the id is no pattern. */
  rest: string | null;
}

/** Finds the id behind a name: an exact id or alias, else the longest pattern. */
export class ModelNames {
  readonly #exact = new Map<string, string>();
  /** Patterns by the text before their `*`. */
  readonly #patterns = new Map<string, string>();
  /** Lengths of these texts, the longest first: a name is looked up once for each, however many patterns there are. */
  readonly #lengths: number[] = [];

  add({ id, aliases }: { id: string; aliases: readonly string[] }): void {
    if (!isPattern(id)) {
      for (const name of [id, ...aliases]) this.#exact.set(name, id);
      return;
    }
    const length = id.length - 1;
    this.#patterns.set(id.slice(0, -1), id);
    if (this.#lengths.includes(length)) return;
    this.#lengths.push(length);
    this.#lengths.sort((a, b) => b - a);
  }

  match(name: string): NameMatch | undefined {
    const exact = this.#exact.get(name);
    if (exact !== undefined) return { id: exact, rest: null };
    if (!isPassedOn(name)) return undefined;
    for (const length of this.#lengths) {
      const id = length <= name.length ? this.#patterns.get(name.slice(0, length)) : undefined;
      if (id !== undefined) return { id, rest: name.slice(length) };
    }
    return undefined;
  }
}

/** The characters of providers' names. A name behind a pattern is the client's text, and goes into paths and bodies. */
const passedOn = /^[A-Za-z0-9][A-Za-z0-9._:@/+~-]*$/;

function isPassedOn(name: string): boolean {
  return (
    name.length <= maxNameLength &&
    passedOn.test(name) &&
    !name.startsWith('agent:') &&
    !/\/(?:\/|$)/.test(name)
  );
}

/** The name behind a pattern, with this name at its provider; undefined where `upstream` leads to no such name. */
export function nameBehind(id: string, upstream: string, upstreamName: string): string | undefined {
  const beginning = upstream.slice(0, -1);
  return isPattern(upstream) && upstreamName.startsWith(beginning) && !isProvidersChoice(upstreamName)
    ? id.slice(0, -1) + upstreamName.slice(beginning.length)
    : undefined;
}

/**
 * The provider's name of a model behind a pattern: `*` at the end of `upstream` is replaced by the rest. Undefined if
 * it is too long, or would lead elsewhere as a part of a path.
 */
export function upstreamBehind(upstream: string, rest: string): string | undefined {
  const name = isPattern(upstream) ? upstream.slice(0, -1) + rest : upstream;
  const leadsElsewhere = name.split('/').some((part) => part === '.' || part === '..');
  return leadsElsewhere || name.length > maxNameLength ? undefined : name;
}
