import type { Fields } from '@gatehouse/kit/fields';
import { fillingText, listedObjects, wordOf, type ReasoningFill } from '../reasoning-rewrite.ts';
import type { Edit } from '../wire/json-edits.ts';
import type { Member } from '../wire/json-members.ts';
import { isCall } from './items.ts';

/** The kinds of items that decide where reasoning is missing: those of a model's turn, and others, which end it. */
type ItemKind = 'reasoning' | 'call' | 'message' | 'hosted' | 'other';

/**
 * Finds the places of missing reasoning in a list of items: before the first call of a turn of the model, or before the turn. Kimi
 * wants it in this API too (https://github.com/maximhq/bifrost/issues/3802).
 */
class MissingReasoning {
  readonly #fill: ReasoningFill;
  #isThere = false;

  constructor(fill: ReasoningFill) {
    this.#fill = fill;
  }

  /** The item to be put before the next one; null without one. */
  before(kind: ItemKind): Fields | null {
    if (kind === 'other' || kind === 'reasoning') this.#isThere = kind === 'reasoning';
    if (kind !== 'call' && kind !== 'message') return null;
    const text = this.#isThere ? null : fillingText(this.#fill, kind === 'call');
    if (text === null) return null;
    this.#isThere = true;
    return { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text }] };
  }
}

function kindOf(type: unknown, role: unknown): ItemKind {
  if (type === 'reasoning') return 'reasoning';
  if (isCall({ type })) return 'call';
  if (role === 'assistant') return 'message';
  return typeof type === 'string' && /_call$/.test(type) ? 'hosted' : 'other';
}

/** Items with the missing reasoning. */
export function filledItems(items: readonly Fields[], fill: ReasoningFill | undefined): Fields[] {
  if (fill === undefined) return [...items];
  const missing = new MissingReasoning(fill);
  return items.flatMap((item) => {
    const added = missing.before(kindOf(item['type'], item['role']));
    return added === null ? [item] : [added, item];
  });
}

/** The same in the text of a request. `gone`: places of items that are left out. A list too long to be walked over stays. */
export function fillInput(
  body: Buffer,
  input: Member,
  { fill, gone }: { fill: ReasoningFill; gone: ReadonlySet<number> },
): Edit[] {
  const missing = new MissingReasoning(fill);
  return (listedObjects(body, input) ?? []).flatMap(({ index, at, members }) => {
    if (gone.has(index)) return [];
    const added = missing.before(kindOf(wordOf(body, members, 'type'), wordOf(body, members, 'role')));
    return added === null ? [] : [{ at, until: at, text: `${JSON.stringify(added)},` }];
  });
}
