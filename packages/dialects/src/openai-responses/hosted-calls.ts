import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { BilledTool, ToolCalls } from '../usage/usage.ts';
import { billedAs } from '../usage/fee-tools.ts';
import { maxParts } from '../bounds.ts';

/** Items for calls of the provider's own tools, with the billed tool of each. */
const billedItems: ReadonlyMap<unknown, BilledTool> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generation'],
]);

/** Tools of the provider always offered by Codex, so they are hints. */
export const offeredTools: ReadonlySet<unknown> = new Set([
  'web_search',
  'web_search_preview',
  'image_generation',
  'tool_search',
]);

/** The places of offered tools in a list of tools, with the type of each. */
export type OfferedPlaces = ReadonlyMap<number, string>;

export function offeredIn(tools: unknown): OfferedPlaces {
  const types = listOf(tools).map((tool) => (isFields(tool) ? tool['type'] : undefined));
  return new Map(
    [...types.entries()].filter((entry): entry is [number, string] => offeredTools.has(entry[1])),
  );
}

/** Whether a client lets the model choose among its tools without naming one of this type. */
export function isOffered(type: string, choice: unknown): boolean {
  const named = isFields(choice) ? [choice, ...listOf(choice['tools'])] : [];
  return offeredTools.has(type) && !named.some((tool) => isFields(tool) && tool['type'] === type);
}

/** Whether a tool is an offer, left out where a budget requires it. */
export function isBilledOffer(tool: unknown): boolean {
  if (!isFields(tool)) return false;
  const { type } = tool;
  return typeof type === 'string' && offeredTools.has(type) && billedAs(type) !== null;
}

/** Counts the calls in an output with a price by the call. */
export class HostedCalls {
  readonly #calls: ToolCalls = {};
  /** Calls of an answer under way by their places. */
  readonly #begun = new Map<number, Fields>();
  readonly #ended = new Set<number>();

  get counted(): ToolCalls {
    return this.#calls;
  }

  /** Those of a broken-off answer: also calls just begun. */
  get startedCalls(): ToolCalls {
    const all = new HostedCalls();
    Object.assign(all.#calls, this.#calls);
    for (const item of this.#begun.values()) all.add(item);
    return all.counted;
  }

  /** A call has begun. */
  begin(item: Fields, place: number): void {
    if (billedItems.has(item['type']) && !this.#ended.has(place)) this.#begun.set(place, item);
    if (this.#begun.size > maxParts) throw new Error('the answer has too many items');
  }

  /** A call has ended. `place`: its own in an answer with a repetition of it. */
  add(item: Fields, place: number | null = null): void {
    const tool = billedItems.get(item['type']);
    if (place !== null && tool !== undefined) {
      if (this.#ended.has(place)) return;
      this.#ended.add(place);
      this.#begun.delete(place);
    }
    if (tool === undefined || item['status'] === 'failed' || isFree(item)) return;
    this.#calls[tool] = (this.#calls[tool] ?? 0) + 1;
  }
}

/** OpenAI bills searches, but no opening of a page and no finding of a text in one. */
function isFree({ action }: Fields): boolean {
  return isFields(action) && (action['type'] === 'open_page' || action['type'] === 'find_in_page');
}
