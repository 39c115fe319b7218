import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { BilledTool, ToolCalls } from '../../usage/usage.ts';

/** Items that are calls of the provider's own tools, with the tool that each is billed as. */
const billedItems: ReadonlyMap<unknown, BilledTool> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generation'],
]);

/** Tools of the provider that Codex always offers, so that they are hints. */
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

/** Counts the calls in an output that are billed by the call. */
export class HostedCalls {
  readonly #calls: ToolCalls = {};

  get counted(): ToolCalls {
    return this.#calls;
  }

  add(item: Fields): void {
    const tool = billedItems.get(item['type']);
    if (tool === undefined || item['status'] === 'failed' || isFree(item)) return;
    this.#calls[tool] = (this.#calls[tool] ?? 0) + 1;
  }
}

/** OpenAI bills searches, and neither pages that are opened nor texts that are found in them. */
function isFree({ action }: Fields): boolean {
  return isFields(action) && (action['type'] === 'open_page' || action['type'] === 'find_in_page');
}
