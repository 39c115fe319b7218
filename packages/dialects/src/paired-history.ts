import type { Steps } from '@gatehouse/kit/cooperative-steps';
import type { Fields } from '@gatehouse/kit/fields';
import { quote } from '@gatehouse/kit/json-bytes';
import { maxMendedElements } from './bounds.ts';
import { earlierResult, emptyResult, noResult } from './translation/result-words.ts';
import type { Edit } from './wire/json-edits.ts';
import { ObjectText } from './wire/object-text.ts';

/** JSON in parts. */
type Parts = readonly (string | Buffer)[];

/** Calls and their results in the messages or items of an API. */
export interface PairForm {
  /** Results stand right behind their calls, each a message or several in one; or anywhere behind them. */
  place: 'apart' | 'together' | 'anywhere';
  /** The ids of the calls in a message or an item. */
  calls(element: ObjectText): readonly string[];
  /** The ids of the results in it. */
  results(element: ObjectText): readonly string[];
  /** The message or item for the missing result of a call. */
  missing(id: string, call: ObjectText): Fields;
  /** The results with a call, null without any; and the others as words of the user, with all else. */
  divided(element: ObjectText, isKnown: readonly boolean[]): { results: Parts | null; freed: Parts };
}

/** OpenAI's chat completions. */
export const chatPairs: PairForm = {
  place: 'apart',
  calls: (message) =>
    message.textOf('role') === 'assistant'
      ? message.elements('tool_calls').map((call) => call.textOf('id'))
      : [],
  results: (message) => (message.textOf('role') === 'tool' ? [message.textOf('tool_call_id')] : []),
  missing: (id) => ({ role: 'tool', tool_call_id: id, content: noResult }),
  divided: (message) => ({
    results: null,
    freed: ['{"role":"user","content":', contentIn(message, 'content'), '}'],
  }),
};

const outputs: ReadonlyMap<string, string> = new Map([
  ['function_call', 'function_call_output'],
  ['custom_tool_call', 'custom_tool_call_output'],
]);
const outputTypes: ReadonlySet<string> = new Set(outputs.values());

/** OpenAI's responses. */
export const itemPairs: PairForm = {
  place: 'anywhere',
  calls: (item) => (outputs.has(item.textOf('type')) ? [item.textOf('call_id')] : []),
  results: (item) => (outputTypes.has(item.textOf('type')) ? [item.textOf('call_id')] : []),
  missing: (id, call) => ({ type: outputs.get(call.textOf('type')), call_id: id, output: noResult }),
  divided: (item) => ({
    results: null,
    freed: ['{"type":"message","role":"user","content":', contentIn(item, 'output'), '}'],
  }),
};

/** Anthropic's messages: two messages of the user, one behind the other, are one. Its results come before all else. */
export const blockPairs: PairForm = {
  place: 'together',
  calls: (message) => idsIn(message, { role: 'assistant', type: 'tool_use', name: 'id' }),
  results: (message) => idsIn(message, { role: 'user', type: 'tool_result', name: 'tool_use_id' }),
  missing: (id) => ({
    role: 'user',
    content: [{ type: 'tool_result', tool_use_id: id, content: noResult, is_error: true }],
  }),
  divided: (message, isKnown) => {
    const results: Buffer[] = [];
    const others: (string | Buffer)[] = [];
    const known = isKnown.values();
    for (const block of message.elements('content'))
      if (block.textOf('type') !== 'tool_result') others.push(block.bytes);
      else if (known.next().value === true) results.push(block.bytes);
      else others.push(...freedBlocks(block));
    return { results: results.length === 0 ? null : userMessage(results), freed: userMessage(others) };
  },
};

function idsIn(
  message: ObjectText,
  { role, type, name }: Readonly<Record<'role' | 'type' | 'name', string>>,
): string[] {
  if (message.textOf('role') !== role) return [];
  const blocks = message.elements('content').filter((block) => block.textOf('type') === type);
  return blocks.map((block) => block.textOf(name));
}

function userMessage(blocks: Parts): Parts {
  return ['{"role":"user","content":[', ...joined(blocks.map((block) => [block])), ']}'];
}

/** The text of a member if it is a text or a list with elements; an empty one otherwise. */
function contentIn(element: ObjectText, name: string): Buffer | string {
  const value = element.value(name);
  return value?.[0] === quote || element.elements(name).length > 0 ? (value ?? '""') : '""';
}

/** Blocks of the user in place of a result: its own, so that images stay images, and its point of the cache. */
function freedBlocks(result: ObjectText): Parts {
  const isError = result.value('is_error')?.toString() === 'true';
  const intro = textBlock(JSON.stringify(earlierResult(isError)));
  const blocks = result.elements('content').map(({ bytes }) => bytes);
  const text = contentIn(result, 'content');
  // An empty text is refused.
  const isEmpty = text.length === '""'.length;
  if (blocks.length === 0) blocks.push(textBlock(isEmpty ? JSON.stringify(emptyResult) : text));
  const point = result.value('cache_control');
  const pointBefore = result.elements('content').at(-1)?.value('cache_control') ?? null;
  if (point === null || pointBefore !== null) return [intro, ...blocks];
  return [intro, ...blocks.slice(0, -1), ...blocks.slice(-1).map((block) => withCachePoint(block, point))];
}

/** `text`: as JSON. */
function textBlock(text: string | Buffer): Buffer {
  return Buffer.concat([Buffer.from('{"type":"text","text":'), Buffer.from(text), Buffer.from('}')]);
}

function withCachePoint(block: Buffer, point: Buffer): Buffer {
  return Buffer.concat([block.subarray(0, -1), Buffer.from(',"cache_control":'), point, Buffer.from('}')]);
}

/** Parts with commas between them. */
function joined(all: readonly Parts[]): Parts {
  return all.flatMap((parts, index) => (index === 0 ? parts : [',', ...parts]));
}

/**
 * Edits by which each call of a history has one result, and each result its call: clients lose one of the two when a
 * person interrupts a tool, or when they shorten the history (https://github.com/openclaw/openclaw/issues/10900).
 */
export function* pairedEdits(text: Buffer, elements: Iterable<number>, form: PairForm): Steps<Edit[]> {
  const pairs = new PairedElements(form);
  let first = 0;
  let end = 0;
  for (const at of elements) {
    yield;
    const element = new ObjectText(text, at);
    if (end === 0) first = at;
    end = at + element.bytes.length;
    yield;
    yield* pairs.add(element);
    if (pairs.isTooLarge) return [];
  }
  const whole = pairs.end();
  yield;
  return whole === null ? [] : [{ at: first, until: end, text: whole }];
}

/** A call without its result yet. */
interface CallWithoutResult {
  /** The message or item for its missing result. */
  missing: string;
  /** The index of its own message or item among those written. */
  place: number;
}

/** The messages or items of a history, with what is missing. */
class PairedElements {
  readonly #form: PairForm;
  /** Each with what comes right behind it. */
  readonly #written: Parts[] = [];
  /** By their ids. The last call with an id gets the result. */
  readonly #open = new Map<string, CallWithoutResult[]>();
  /** Results without a call, as words of the user: they wait for the end of the results around them. */
  #freed: Parts[] = [];
  #isChanged = false;
  /** Calls, results and blocks, each of which may become a part of an edit. */
  #parts = 0;

  constructor(form: PairForm) {
    this.#form = form;
  }

  get isTooLarge(): boolean {
    return this.#parts > maxMendedElements;
  }

  *add(element: ObjectText): Steps<void> {
    const { place } = this.#form;
    const ids = this.#form.results(element);
    yield;
    const isKnown = ids.map((id) => this.#close(id));
    const blocks = place === 'together' ? element.elements('content').length : 0;
    const hasMore = ids.length === 0 || ids.length < blocks;
    if (!isKnown.includes(false)) {
      // Missing results come before words of the user in the same message.
      if (hasMore) this.#addMissing();
      if (ids.length === 0) this.#addFreed();
      this.#written.push([element.bytes]);
    } else {
      const { results, freed } = this.#form.divided(element, isKnown);
      if (results !== null) this.#written.push(results);
      if (hasMore) this.#addMissing();
      this.#freed.push(freed);
      yield;
    }
    if (hasMore || place === 'anywhere') this.#addFreed();
    const calls = this.#form.calls(element);
    this.#parts += ids.length + blocks + calls.length;
    for (const id of calls) this.#openCall(id, element);
  }

  /** The whole list; null where nothing is missing. */
  end(): Parts | null {
    if (this.#form.place !== 'anywhere') this.#addMissing();
    this.#addFreed();
    for (const { missing, place } of [...this.#open.values()].flat()) {
      this.#isChanged = true;
      this.#written[place] = [...(this.#written[place] ?? []), ',', missing];
    }
    return this.#isChanged ? joined(this.#written) : null;
  }

  #openCall(id: string, element: ObjectText): void {
    const call = {
      missing: JSON.stringify(this.#form.missing(id, element)),
      place: this.#written.length - 1,
    };
    const calls = this.#open.get(id);
    if (calls === undefined) this.#open.set(id, [call]);
    else calls.push(call);
  }

  /** Whether there is an open call with an id, which a result has closed. */
  #close(id: string): boolean {
    const calls = this.#open.get(id);
    if (calls === undefined) return false;
    calls.pop();
    if (calls.length === 0) this.#open.delete(id);
    return true;
  }

  /** Results of all open calls, where results stand right behind their calls. */
  #addMissing(): void {
    if (this.#form.place === 'anywhere' || this.#open.size === 0) return;
    for (const { missing } of [...this.#open.values()].flat()) this.#written.push([missing]);
    this.#open.clear();
    this.#isChanged = true;
  }

  #addFreed(): void {
    if (this.#freed.length === 0) return;
    this.#written.push(...this.#freed);
    this.#freed = [];
    this.#isChanged = true;
  }
}
