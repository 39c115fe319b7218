import { RefusedRequest } from '../errors.ts';
import type { JsonObject } from '../values.ts';

/** The types of calls, with the type of their results and OpenAI's word for them. */
const kinds = [
  { call: 'function_call', output: 'function_call_output', word: 'function call' },
  { call: 'custom_tool_call', output: 'custom_tool_call_output', word: 'custom tool call' },
];

/** @throws RefusedRequest (400) for items that OpenAI refuses in this order. */
export function checkOrder(items: readonly JsonObject[]): void {
  checkUnique(items);
  for (const kind of kinds) checkPairs(items, kind);
  checkReasoning(items);
}

function checkUnique(items: readonly JsonObject[]): void {
  const seen = new Set<unknown>();
  for (const { id } of items) {
    if (typeof id === 'string' && seen.has(id)) {
      throw new RefusedRequest(
        `Duplicate item found with id ${id}. Remove duplicate items from your input and try again.`,
        { param: 'input' },
      );
    }
    seen.add(id);
  }
}

/** Every result comes after its call, and every call has a result. */
function checkPairs(items: readonly JsonObject[], { call, output, word }: (typeof kinds)[number]): void {
  const open = new Set<string>();
  const called = new Set<string>();
  for (const { type, call_id } of items) {
    const id = String(call_id);
    if (type === call) {
      open.add(id);
      called.add(id);
    } else if (type === output) {
      if (!called.has(id)) {
        throw new RefusedRequest(`No tool call found for ${word} output with call_id ${id}.`, {
          param: 'input',
        });
      }
      open.delete(id);
    }
  }
  const [unanswered] = open;
  if (unanswered === undefined) return;
  throw new RefusedRequest(`No tool output found for ${word} ${unanswered}.`, { param: 'input' });
}

/** Reasoning stands before something else that the model has said or called. */
function checkReasoning(items: readonly JsonObject[]): void {
  for (const [index, { type, id }] of items.entries()) {
    if (type !== 'reasoning') continue;
    const next = items[index + 1];
    const foreign = next === undefined || /_output$|^additional_tools$/.test(String(next['type']));
    const said = next?.['type'] !== 'message' || next['role'] === 'assistant';
    if (!foreign && said) continue;
    throw new RefusedRequest(
      `Item '${String(id)}' of type 'reasoning' was provided without its required following item.`,
      { param: 'input' },
    );
  }
}
