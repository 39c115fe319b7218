import type { Frame } from '../frame.ts';
import { argumentPieces } from '../tool-calls.ts';
import { splitEvenly } from '../values.ts';
import type { JsonObject } from '../values.ts';
import type { AnsweredItem } from './responses-answer.ts';

/** An event of a stream before it has its number. */
export interface ItemEvent {
  kind: Frame['kind'];
  type: string;
  fields: JsonObject;
}

/** An item as the whole response has it. */
export function itemOf(item: AnsweredItem): JsonObject {
  switch (item.type) {
    case 'reasoning':
      return { ...sealedItem(item), summary: item.summary.length === 0 ? [] : [summaryPart(item.summary)] };
    case 'message':
      return { ...messageItem(item), content: [textPart(item.pieces.join(''))] };
    case 'function_call':
      return {
        ...callItem(item),
        status: item.isCut ? 'incomplete' : 'completed',
        arguments: item.arguments,
      };
    case 'custom_tool_call':
      return { ...callItem(item), status: 'completed', input: item.input };
    case 'compaction':
      return sealedItem(item);
  }
}

/** The events of an item: its beginning, its parts in pieces, and itself as a whole. */
export function itemEvents(item: AnsweredItem, output_index: number): ItemEvent[] {
  const place = { item_id: item.id, output_index };
  return [
    event('response.output_item.added', { output_index, item: begunItem(item) }),
    ...partEvents(item, place),
    event('response.output_item.done', { output_index, item: itemOf(item) }),
  ];
}

function event(type: string, fields: JsonObject, kind: Frame['kind'] = 'block'): ItemEvent {
  return { kind, type, fields };
}

/** An item before its first piece. */
function begunItem(item: AnsweredItem): JsonObject {
  switch (item.type) {
    case 'reasoning':
      return { ...sealedItem(item), summary: [] };
    case 'message':
      return { ...messageItem(item), status: 'in_progress', content: [] };
    case 'function_call':
      return { ...callItem(item), status: 'in_progress', arguments: '' };
    case 'custom_tool_call':
      return { ...callItem(item), status: 'in_progress', input: '' };
    case 'compaction':
      return sealedItem(item);
  }
}

function partEvents(item: AnsweredItem, place: JsonObject): ItemEvent[] {
  switch (item.type) {
    case 'reasoning':
      return summaryEvents(item.summary, { ...place, summary_index: 0 });
    case 'message':
      return textEvents(item.pieces, { ...place, content_index: 0 });
    case 'function_call':
      return callEvents('response.function_call_arguments', place, { arguments: item.arguments });
    case 'custom_tool_call':
      return callEvents('response.custom_tool_call_input', place, { input: item.input });
    case 'compaction':
      return [];
  }
}

function summaryEvents(summary: string[], place: JsonObject): ItemEvent[] {
  if (summary.length === 0) return [];
  const part = summaryPart(summary);
  return [
    event('response.reasoning_summary_part.added', { ...place, part: summaryPart([]) }),
    ...summary.map((delta) => event('response.reasoning_summary_text.delta', { ...place, delta }, 'content')),
    event('response.reasoning_summary_text.done', { ...place, text: part.text }),
    event('response.reasoning_summary_part.done', { ...place, part }),
  ];
}

function textEvents(pieces: string[], place: JsonObject): ItemEvent[] {
  const text = pieces.join('');
  return [
    event('response.content_part.added', { ...place, part: textPart('') }),
    ...pieces.map((delta) =>
      event('response.output_text.delta', { ...place, delta, logprobs: [] }, 'content'),
    ),
    event('response.output_text.done', { ...place, text, logprobs: [] }),
    event('response.content_part.done', { ...place, part: textPart(text) }),
  ];
}

/** `whole`: the field that has the text of the call. */
function callEvents(type: string, place: JsonObject, whole: Record<string, string>): ItemEvent[] {
  const [text = ''] = Object.values(whole);
  return [
    ...splitEvenly(text, argumentPieces).map((delta) =>
      event(`${type}.delta`, { ...place, delta }, 'content'),
    ),
    event(`${type}.done`, { ...place, ...whole }),
  ];
}

function textPart(text: string): JsonObject {
  return { type: 'output_text', annotations: [], logprobs: [], text };
}

function summaryPart(pieces: string[]) {
  return { type: 'summary_text', text: pieces.join('') };
}

function messageItem({ id, complete }: AnsweredItem & { type: 'message' }): JsonObject {
  return { id, type: 'message', status: complete ? 'completed' : 'incomplete', role: 'assistant' };
}

function callItem(item: AnsweredItem & { type: 'function_call' | 'custom_tool_call' }): JsonObject {
  const { type, id, call_id, name, namespace } = item;
  return { id, type, call_id, name, ...(namespace !== null && { namespace }) };
}

function sealedItem({
  id,
  type,
  encrypted,
}: AnsweredItem & { type: 'reasoning' | 'compaction' }): JsonObject {
  return { id, type, ...(encrypted !== null && { encrypted_content: encrypted }) };
}
