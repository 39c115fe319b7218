import { maxCalls } from '../bounds.ts';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { AssistantMessage, ToolCall, ToolStream } from '../dialect.ts';
import { JsonSource, RawJson, writeJson } from '../wire/json-text.ts';
import { argumentsObjects, readCalls, withNewIds } from '../tool-arguments.ts';
import { messagesIds } from '../translation/call-ids.ts';
import { JoinedAnswers } from '../joined-answers.ts';
import { latestReport, sumReports } from '../usage/reported-usage.ts';
import { frameData } from '../wire/sse-frames.ts';
import { JoinedStream } from '../joined-stream.ts';
import { MessageProgress, callsTools, eventOf, frameOf, stopFrame } from './stream.ts';
import { textOf } from '../translation/fields.ts';
import { charsEach, maxParts, maxReadChars } from '../bounds.ts';

/** A block, and the input of a call as it was written; empty where the block has it. */
interface WrittenBlock {
  fields: Fields;
  json: string;
}

/** The content of a model's message. */
export class AssistantContent implements AssistantMessage {
  /** As the model wrote it. */
  readonly blocks: readonly Fields[];
  readonly calls: readonly ToolCall[];

  private constructor(blocks: readonly Fields[], calls: readonly ToolCall[]) {
    this.blocks = blocks;
    this.calls = calls;
  }

  /** Throws at too many calls. */
  static of(written: readonly WrittenBlock[]): AssistantContent {
    const called = written.filter(({ fields }) => isCall(fields));
    const calls = readCalls(
      called.map(({ fields: { id, name, input }, json }) => ({
        ...{ id, name },
        argumentsText: json === '' && input !== undefined ? writeJson(input) : json,
      })),
    );
    const inputs = new Map(called.map((block, index) => [block, calls[index]?.argumentsJson ?? '{}']));
    const blocks = written.map((block) => {
      // Tools of the provider have inputs in pieces too.
      const input =
        inputs.get(block) ?? (block.json === '' ? null : (argumentsObjects([block.json])[0] ?? null));
      return input === null ? block.fields : { ...block.fields, input: new RawJson(input) };
    });
    return new AssistantContent(blocks, calls);
  }

  /** The same for an answer stopped for this reason: calls of a broken-off answer are not to be made. */
  stopped(reason: unknown): AssistantContent {
    return brokenOff.has(reason) ? new AssistantContent(this.blocks, []) : this;
  }

  /** Reasoning is signed by the vendor of the model. */
  get isSigned(): boolean {
    return this.blocks.some(isSigned);
  }

  identified(used: Set<string>): AssistantContent {
    if (this.calls.length === 0) return this;
    const calls = withNewIds(this.calls, used, messagesIds);
    let place = 0;
    const blocks = this.blocks.map((block) => {
      if (!isCall(block)) return block;
      const { id } = calls[place] ?? {};
      place += 1;
      return { ...block, id };
    });
    return new AssistantContent(blocks, calls);
  }

  /** Without empty texts, which are refused in requests. Thoughts stay as they are, since they are signed. */
  get text(): string {
    const content = this.blocks.filter(({ type, text }) => type !== 'text' || textOf(text).trim() !== '');
    return writeJson({ role: 'assistant', content });
  }

  /** One message: each call must have its result in the message right after it. */
  resultTexts(results: readonly string[]): string[] {
    const content = this.calls.map(({ id }, index) => ({
      ...{ type: 'tool_result', tool_use_id: id, content: results[index] ?? '' },
    }));
    return [JSON.stringify({ role: 'user', content })];
  }
}

const brokenOff = new Set<unknown>(['max_tokens', 'refusal', 'model_context_window_exceeded']);

/** Whether a block of a content goes back to its own vendor alone. */
export function isSigned({ type }: Fields): boolean {
  return type === 'thinking' || type === 'redacted_thinking';
}

/** The name of a called tool; empty without one. */
function nameOf(block: Fields): string {
  return textOf(block['name']);
}

/** Whether a block is a call of a tool of the client or of the gateway. */
export function isCall(block: unknown): block is Fields {
  return isFields(block) && block['type'] === 'tool_use';
}

/** A block with the input of its call as it is written: parsing and writing it again would change big numbers. */
export function exactInput(block: unknown, sourceOf: () => JsonSource | null): unknown {
  if (!isCall(block) || !isFields(block['input']) || Object.keys(block['input']).length === 0) return block;
  const input = sourceOf()?.textOf('input') ?? null;
  return input === null ? block : { ...block, input: new RawJson(input) };
}

interface OpenBlock {
  fields: Fields;
  /** The input of a call of a tool, as it comes in pieces. */
  json: string[];
  citations: unknown[];
}

/** Puts the content of a streamed message together. */
export class ContentBuilder {
  readonly #blocks = new Map<number, OpenBlock>();
  #chars = 0;
  #calls = 0;

  /** A `content_block_start`. Throws at more than an answer may have. */
  start(index: number, block: unknown): void {
    const fields = isFields(block) ? block : {};
    this.#count(Object.values(fields));
    this.#blocks.set(index, { fields: { ...fields }, json: [], citations: [] });
    this.#calls += isCall(fields) ? 1 : 0;
    if (this.#calls > maxCalls) throw new Error('the answer has too many calls of tools');
    if (this.#blocks.size > maxParts) throw new Error('the answer has too many blocks');
  }

  /** A `content_block_delta`. Throws at more than an answer may have. */
  add(index: number, delta: unknown): void {
    const block = this.#blocks.get(index);
    if (block === undefined || !isFields(delta)) return;
    const { type: _type, partial_json: json, citation, ...texts } = delta;
    this.#count([json, citation, ...Object.values(texts)]);
    if (typeof json === 'string') block.json.push(json);
    if (citation !== undefined) block.citations.push(citation);
    for (const [name, text] of Object.entries(texts))
      if (typeof text === 'string' && name !== '__proto__')
        block.fields[name] = (typeof block.fields[name] === 'string' ? block.fields[name] : '') + text;
  }

  get built(): AssistantContent {
    const blocks = [...this.#blocks].toSorted(([a], [b]) => a - b);
    return AssistantContent.of(
      blocks.map(([, { fields, json, citations }]) => ({
        fields:
          citations.length === 0
            ? fields
            : { ...fields, citations: [...listOf(fields['citations']), ...citations] },
        json: json.join(''),
      })),
    );
  }

  #count(values: readonly unknown[]): void {
    for (const value of values)
      this.#chars +=
        charsEach + (typeof value === 'string' ? value.length : JSON.stringify(value ?? null).length);
    if (this.#chars > maxReadChars) throw new Error('the answer is too large to be put together');
  }
}

export class MessageToolAnswers extends JoinedAnswers {
  protected override exact(answer: Fields, source: JsonSource): Fields {
    const { content } = answer;
    if (!Array.isArray(content) || !content.some(isCall)) return answer;
    const blocks = source.member('content');
    const exact = (content as unknown[]).map((block, index) =>
      exactInput(block, () => blocks?.element(index) ?? null),
    );
    return { ...answer, content: exact };
  }

  protected override read({ content, stop_reason: reason }: Fields): AssistantContent | null {
    if (!Array.isArray(content)) return null;
    const blocks = listOf(content).filter(isFields);
    return AssistantContent.of(blocks.map((fields) => ({ fields, json: '' }))).stopped(reason);
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const content = listOf(answer['content']);
    const clientContent = content.filter((block) => !isCall(block) || !this.isOwn(nameOf(block)));
    const end = callsTools(answer) && !clientContent.some(isCall) && { stop_reason: 'end_turn' };
    return {
      answer: { ...answer, content: clientContent, ...end },
      isSame: clientContent.length === content.length,
    };
  }
}

/**
 * Passes the events of several calls of a model on as one message: the client sees one start, blocks with numbers in
 * turn, one end with the usage of all, and no call of the gateway's own tools. Frames without a change stay as they
 * are.
 */
export class MessageToolStream extends JoinedStream implements ToolStream {
  #isFirst = true;
  #content = new ContentBuilder();
  /** The client's index for each block of the call under way; null for calls of the gateway. */
  #indexes = new Map<number, number | null>();
  #shownBlocks = 0;
  #hasOthersCall = false;
  #hasOwnCall = false;
  /** The usage of the calls before, and of the one under way. */
  #before: unknown;
  #progress = new MessageProgress();
  /** Passed on once no call of a tool follows: why the message stopped, and its usage. */
  #held: { frame: Buffer; fields: Fields } | null = null;

  /** Calls of the gateway are left out of every answer, so it need not know which may have one. */
  next(): void {
    this.#isFirst = false;
    this.#content = new ContentBuilder();
    this.#indexes = new Map();
    this.#hasOwnCall = false;
    this.#before = sumReports(this.#before, this.#progress.usage);
    this.#progress = new MessageProgress();
    this.#held = null;
  }

  get message(): AssistantContent {
    return this.#content.built.stopped((Object(this.#held?.fields['delta']) as Fields)['stop_reason']);
  }

  finish(): void {
    if (this.#held === null) return;
    const { frame, fields } = this.#held;
    const isChanged = !this.#isFirst || this.#hasOwnCall;
    this.send([isChanged ? frameOf({ ...this.#ended(fields), type: 'message_delta' }) : frame]);
  }

  endFrames(): Buffer[] {
    return [stopFrame];
  }

  #ended(fields: Fields): Fields {
    const delta = Object(fields['delta']) as Fields;
    const isOver = callsTools(delta) && !this.#hasOthersCall;
    return {
      ...fields,
      delta: isOver ? { ...delta, stop_reason: 'end_turn' } : delta,
      usage: sumReports(this.#before, this.#progress.usage),
    };
  }

  protected override passed(frame: Buffer): Buffer[] {
    const event = eventOf(frame);
    if (event === null) return [frame];
    const { type, index: place } = event;
    this.#progress.add(event);
    const fields = type === 'content_block_start' ? exactStart(event.fields, frame) : event.fields;
    switch (type) {
      case 'message_start':
        return this.#isFirst ? [frame] : [];
      case 'content_block_start':
        this.#content.start(place, fields['content_block']);
        this.#open(place, fields['content_block']);
        break;
      case 'content_block_delta':
        this.#content.add(place, fields['delta']);
        break;
      case 'content_block_stop':
        break;
      case 'message_delta':
        this.#hold(frame, fields);
        return [];
      default:
        return [frame];
    }
    const index = this.#indexes.get(place);
    if (index === null || index === undefined) return [];
    return [index === fields['index'] ? frame : frameOf({ ...fields, type, index })];
  }

  /** Some servers say why the message stopped and its usage in two events. */
  #hold(frame: Buffer, fields: Fields): void {
    const before = this.#held?.fields;
    if (before === undefined) {
      this.#held = { frame, fields };
      return;
    }
    const merged = {
      ...{ ...before, ...fields, type: 'message_delta', usage: this.#progress.usage },
      delta: latestReport(Object(before['delta']) as Fields, fields['delta']),
    };
    this.#held = { frame: frameOf(merged), fields: merged };
  }

  #open(index: number, block: unknown): void {
    const isOwn = isCall(block) && this.isOwn(nameOf(block));
    this.#hasOwnCall ||= isOwn;
    this.#hasOthersCall ||= isCall(block) && !isOwn;
    this.#indexes.set(index, isOwn ? null : this.#shownBlocks);
    if (!isOwn) this.#shownBlocks += 1;
  }
}

/** Some servers write the whole input of a call in its start. */
function exactStart(fields: Fields, frame: Buffer): Fields {
  const source = (): JsonSource | null =>
    new JsonSource(Buffer.from(frameData(frame) ?? '')).member('content_block');
  return { ...fields, content_block: exactInput(fields['content_block'], source) };
}
