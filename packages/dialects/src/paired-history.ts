import type { Steps } from '@gatehouse/kit/cooperative-steps';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { openBrace } from '@gatehouse/kit/json-bytes';
import { textOf } from './translation/fields.ts';
import type { Edit } from './wire/json-edits.ts';
import { elementsOf, valueEnd } from './wire/json-members.ts';

/** Calls and their results in the messages or items of an API. */
export interface PairForm {
  /** Results stand right behind their calls, each a message or all in one; or anywhere behind them. */
  place: 'apart' | 'together' | 'anywhere';
  /** The ids of the calls in a message or an item. */
  calls(element: Fields): readonly string[];
  /** The ids of the results in it. */
  results(element: Fields): readonly string[];
  /** The message or item for the missing result of a call. */
  missing(id: string, call: Fields): Fields;
  /** The same element, with results of unknown calls as words of the user. */
  freed(element: Fields, isKnown: (id: string) => boolean): Fields;
}

const noResult = 'No result.';
const earlier = 'Result of an earlier call: ';

/** OpenAI's chat completions. */
export const chatPairs: PairForm = {
  place: 'apart',
  calls: ({ role, tool_calls: calls }) => (role === 'assistant' ? idsIn(listOf(calls), 'id') : []),
  results: (message) => (message['role'] === 'tool' ? idsIn([message], 'tool_call_id') : []),
  missing: (id) => ({ role: 'tool', tool_call_id: id, content: noResult }),
  freed: ({ content }) => ({ role: 'user', content }),
};

const outputs: ReadonlyMap<unknown, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
]);
const isOutput = ({ type }: Fields): boolean => [...outputs.values()].includes(textOf(type));

/** OpenAI's responses. */
export const itemPairs: PairForm = {
  place: 'anywhere',
  calls: (item) => (outputs.has(item['type']) ? idsIn([item], 'call_id') : []),
  results: (item) => (isOutput(item) ? idsIn([item], 'call_id') : []),
  missing: (id, { type }) => ({ type: outputs.get(type), call_id: id, output: noResult }),
  freed: ({ output }) => ({ type: 'message', role: 'user', content: output }),
};

/** Anthropic's messages: two messages of the user, one behind the other, are one. */
export const blockPairs: PairForm = {
  place: 'together',
  calls: ({ role, content }) => (role === 'assistant' ? idsIn(blocksOf(content, 'tool_use'), 'id') : []),
  results: ({ role, content }) =>
    role === 'user' ? idsIn(blocksOf(content, 'tool_result'), 'tool_use_id') : [],
  missing: (id) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: noResult, is_error: true }],
  }),
  freed: (message, isKnown) => ({
    ...message,
    content: listOf(message['content']).map((block) => {
      const isResult = isFields(block) && block['type'] === 'tool_result';
      if (!isResult || isKnown(textOf(block['tool_use_id']))) return block;
      const { content } = block;
      return {
        type: 'text',
        text: earlier + (typeof content === 'string' ? content : JSON.stringify(content ?? '')),
      };
    }),
  }),
};

function blocksOf(content: unknown, type: string): unknown[] {
  return listOf(content).filter((block) => isFields(block) && block['type'] === type);
}

function idsIn(elements: readonly unknown[], name: string): string[] {
  return elements.map((element) => textOf((Object(element) as Fields)[name]));
}

/** The messages or items with a call, by the ids of calls without their result yet. */
type OpenCalls = Map<string, Fields>;

/**
 * Edits by which each call of a history has one result, and each result its call: clients lose one of the two when a
 * person interrupts a tool, or when they shorten the history (https://github.com/openclaw/openclaw/issues/10900).
 */
export function* pairedEdits(text: Buffer, listStart: number, form: PairForm): Steps<Edit[]> {
  const isAnywhere = form.place === 'anywhere';
  const answered = isAnywhere ? yield* resultsIn(text, listStart, form) : new Set<string>();
  const edits: Edit[] = [];
  const open: OpenCalls = new Map();
  let end = 0;
  for (const at of elementsOf(text, listStart)) {
    const until = valueEnd(text, at);
    const element = elementIn(text, at, until);
    const results = form.results(element);
    const known = new Set(results.filter((id) => open.delete(id)));
    const isFree = results.length > known.size;
    const goesOn = isAnywhere || (form.place === 'apart' && known.size > 0);
    if (!goesOn) edits.push(...missingBefore(at, open, form));
    if (isFree) edits.push({ at, until, text: JSON.stringify(form.freed(element, (id) => known.has(id))) });
    for (const id of form.calls(element)) open.set(id, element);
    if (isAnywhere)
      edits.push(...missingBehind(until, unanswered(form.calls(element), element, answered), form));
    end = until;
    yield;
  }
  return isAnywhere ? edits : [...edits, ...missingBehind(end, open, form)];
}

function* resultsIn(text: Buffer, listStart: number, form: PairForm): Steps<Set<string>> {
  const ids = new Set<string>();
  for (const at of elementsOf(text, listStart)) {
    for (const id of form.results(elementIn(text, at, valueEnd(text, at)))) ids.add(id);
    yield;
  }
  return ids;
}

function elementIn(text: Buffer, at: number, until: number): Fields {
  return text[at] === openBrace ? (JSON.parse(text.toString('utf8', at, until)) as Fields) : {};
}

function unanswered(calls: readonly string[], element: Fields, answered: ReadonlySet<string>): OpenCalls {
  return new Map(calls.flatMap((id) => (answered.has(id) ? [] : [[id, element] as const])));
}

/** Results of all open calls, which are closed by them. */
function missingTexts(open: OpenCalls, form: PairForm): string {
  const texts = [...open].map(([id, call]) => JSON.stringify(form.missing(id, call)));
  open.clear();
  return texts.join(',');
}

function missingBefore(at: number, open: OpenCalls, form: PairForm): Edit[] {
  return open.size === 0 ? [] : [{ at, until: at, text: `${missingTexts(open, form)},` }];
}

function missingBehind(at: number, open: OpenCalls, form: PairForm): Edit[] {
  return open.size === 0 ? [] : [{ at, until: at, text: `,${missingTexts(open, form)}` }];
}
