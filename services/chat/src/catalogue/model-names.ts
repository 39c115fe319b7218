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
  /** Patterns, the longest first. */
  #patterns: readonly string[] = [];

  add({ id, aliases }: { id: string; aliases: readonly string[] }): void {
    if (isPattern(id)) this.#patterns = [...this.#patterns, id].sort((a, b) => b.length - a.length);
    else for (const name of [id, ...aliases]) this.#exact.set(name, id);
  }

  match(name: string): NameMatch | undefined {
    const exact = this.#exact.get(name);
    if (exact !== undefined) return { id: exact, rest: null };
    const id = isPassedOn(name)
      ? this.#patterns.find((each) => name.startsWith(each.slice(0, -1)))
      : undefined;
    return id === undefined ? undefined : { id, rest: name.slice(id.length - 1) };
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

/**
 * The provider's name of a model behind a pattern: `*` at the end of `upstream` is replaced by the rest. Undefined if
 * it is too long, or would lead elsewhere as a part of a path.
 */
export function upstreamBehind(upstream: string, rest: string): string | undefined {
  const name = isPattern(upstream) ? upstream.slice(0, -1) + rest : upstream;
  const leadsElsewhere = name.split('/').some((part) => part === '.' || part === '..');
  return leadsElsewhere || name.length > maxNameLength ? undefined : name;
}

/** OpenAI's and Anthropic's names, alone and behind a vendor's. */
const reasoningNames = /^(?:openai\/)?(?:gpt-(?:[5-9]|\d\d)|o\d|codex)/;
const plainNames =
  /^(?:openai\/|anthropic\/|(?:[a-z-]+\.)?anthropic\.)?(?:gpt-[34]|chatgpt|claude-(?:v?2|instant|3-(?!7)))/;

/** Whether a model reasons, by a provider's name of it; undefined for an unknown name. */
export function knownReasoning(upstreamModel: string): boolean | undefined {
  if (reasoningNames.test(upstreamModel)) return !upstreamModel.includes('chat');
  return plainNames.test(upstreamModel) ? false : undefined;
}
