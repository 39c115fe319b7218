import { isFields, type Fields } from '@gatehouse/kit/fields';
import type { BilledTool, ToolCalls } from '../../usage/usage.ts';

/** Items that are calls of the provider's own tools, with the tool that each is billed as. */
const billedItems: ReadonlyMap<unknown, BilledTool> = new Map([
  ['web_search_call', 'web_search'],
  ['file_search_call', 'file_search'],
  ['code_interpreter_call', 'code_interpreter'],
  ['image_generation_call', 'image_generation'],
]);

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
