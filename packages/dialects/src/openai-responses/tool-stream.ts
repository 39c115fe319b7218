import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { newId } from '@gatehouse/kit/ids';
import { sumReports } from '../usage/reported-usage.ts';
import type { ToolStream, AssistantMessage, ToolCall } from '../dialect.ts';
import { JoinedStream } from '../joined-stream.ts';
import { eventOf, frameOf, indexOf, isHead, responseIn, type ResponseEvent } from './events.ts';
import { ItemBuilder } from './item-builder.ts';
import { calledName, isCall, isEmptyThought, isSigned } from './items.ts';
import { textOf } from '../translation/fields.ts';
import { argumentsText, readCalls, withNewIds } from '../tool-arguments.ts';
import type { IdRule } from '../translation/call-ids.ts';
import { JoinedAnswers } from '../joined-answers.ts';

/**
 * Passes the events of several calls of a model on as one response: the client sees one beginning, items and events
 * with numbers in turn, one end with the items and the usage of all, and no call of the gateway's own tools. Frames
 * without a change stay as they are.
 */
export class ResponseToolStream extends JoinedStream implements ToolStream {
  /** The id and the time of the first response. */
  #head: Fields | null = null;
  #isFirst = true;
  /** Whether an event was left out, so the numbers of later ones change. */
  #isChanged = false;
  /** The number of the next event. */
  #next: number | null = null;
  #builder = new ItemBuilder();
  /** The client's place for each item of the call under way; null for calls of the gateway. */
  #places = new Map<number, number | null>();
  /** Ids of the items of the call under way used before by an earlier call, and others for them. */
  #renamed = new Map<string, string>();
  #ids = new Set<string>();
  /** The client's items of the calls before. */
  readonly #earlierItems: Fields[] = [];
  #count = 0;
  /** The usage of the calls before. */
  #before: unknown;
  /** The last event of the call just ended. */
  #end: { frame: Buffer; event: ResponseEvent } | null = null;

  ended(frames: readonly Buffer[]): void {
    for (const frame of frames) {
      const event = eventOf(frame);
      if (event !== null) this.#end = { frame, event };
    }
  }

  /** Calls of the gateway are left out of every answer, so it need not know which may have one. */
  next(): void {
    this.#earlierItems.push(...this.#visible);
    this.#before = sumReports(this.#before, this.#response['usage']);
    this.#isFirst = false;
    this.#isChanged = true;
    this.#builder = new ItemBuilder(this.#builder.chars);
    this.#places = new Map();
    this.#ids = new Set(this.#earlierItems.map(({ id }) => textOf(id)));
    this.#renamed = new Map();
    this.#end = null;
  }

  get message(): AssistantItems {
    const isCut = this.#end?.event.type === 'response.incomplete';
    return AssistantItems.of(this.#items.map(([, item]) => item)).ended(
      isCut ? 'incomplete' : this.#response['status'],
    );
  }

  finish(): void {
    // The end of the last answer follows once the run has ended.
  }

  endFrames(): Buffer[] {
    if (this.#end === null) return [];
    const { frame, event } = this.#end;
    const visible = this.#visible;
    if (!this.#isChanged && visible.length === this.#items.length) return [frame];
    const response = {
      ...this.#response,
      ...this.#head,
      output: [...this.#earlierItems, ...visible],
      usage: sumReports(this.#before, this.#response['usage']),
    };
    return [frameOf({ ...event.fields, ...this.#numbered(event.fields), type: event.type, response })];
  }

  get #response(): Fields {
    return this.#end === null ? {} : responseIn(this.#end.event.fields);
  }

  /** The items of the call just ended. Some servers send them in the last event alone. */
  get #items(): (readonly [number, Fields])[] {
    const built = [...this.#builder.built];
    return built.length > 0 ? built : [...listOf(this.#response['output']).filter(isFields).entries()];
  }

  get #visible(): Fields[] {
    return this.#items.filter(([, item]) => !this.#owns(item)).map(([, item]) => this.#withId(item));
  }

  #owns(item: unknown): boolean {
    return isCall(item) && this.isOwn(calledName(item));
  }

  protected override passed(frame: Buffer): Buffer[] {
    const event = eventOf(frame);
    if (event === null) return [frame];
    const { type, fields } = event;
    if (isHead(type)) return this.#isFirst ? this.#readHead(frame, event) : [];
    this.#builder.add(event, frame.length);
    if (type === 'response.output_item.added') this.#open(fields);
    const index = indexOf(fields);
    const place = index === null ? undefined : (this.#places.get(index) ?? null);
    if (place === null) {
      this.#isChanged = true;
      return [];
    }
    const { item, item_id: id } = fields;
    const changed = {
      ...fields,
      ...this.#numbered(fields),
      ...(place !== undefined && { output_index: place }),
      ...(isFields(item) && { item: this.#withId(item) }),
      ...(typeof id === 'string' && { item_id: this.#renamed.get(id) ?? id }),
      type,
    };
    return [this.#isChanged ? frameOf(changed) : frame];
  }

  #readHead(frame: Buffer, { type, fields }: ResponseEvent): Buffer[] {
    const { id, created_at } = responseIn(fields);
    this.#head ??= { ...(id !== undefined && { id }), ...(created_at !== undefined && { created_at }) };
    const numbered = this.#numbered(fields);
    return [this.#isChanged ? frameOf({ ...fields, ...numbered, type }) : frame];
  }

  #open(fields: Fields): void {
    const index = indexOf(fields);
    if (index === null) return;
    const { item } = fields;
    const isOwn = this.#owns(item);
    this.#places.set(index, isOwn ? null : this.#count);
    if (isOwn || !isFields(item)) return;
    this.#count += 1;
    const id = textOf(item['id']);
    if (this.#ids.has(id) && !this.#renamed.has(id))
      this.#renamed.set(id, `${id.slice(0, 16)}_${newId().replaceAll('-', '')}`);
  }

  #withId(item: Fields): Fields {
    const id = this.#renamed.get(textOf(item['id']));
    return id === undefined ? item : { ...item, id };
  }

  /** The number of an event: its own until one was left out. */
  #numbered({ sequence_number: sent }: Fields): { sequence_number?: number } {
    if (typeof sent !== 'number') return {};
    const number = this.#isChanged ? (this.#next ?? sent) : sent;
    this.#next = number + 1;
    return { sequence_number: number };
  }
}

const callIds: IdRule = { fits: (id) => /^[\w-]{1,64}$/.test(id), prefix: 'call_' };

/** The output of a model. */
export class AssistantItems implements AssistantMessage {
  /** As the model wrote them. */
  readonly items: readonly Fields[];
  readonly calls: readonly ToolCall[];

  private constructor(items: readonly Fields[], calls: readonly ToolCall[]) {
    this.items = items;
    this.calls = calls;
  }

  /** Throws at too many calls. */
  static of(items: readonly Fields[]): AssistantItems {
    const calls = items.filter(isCall).map((item) => ({
      ...{ id: item['call_id'], name: calledName(item) },
      argumentsText: argumentsText(item['arguments'] ?? item['input']),
    }));
    return new AssistantItems(items, readCalls(calls));
  }

  /** The same for an answer with this status: calls of a broken-off answer are not to be made. */
  ended(status: unknown): AssistantItems {
    return status === 'incomplete' ? new AssistantItems(this.items, []) : this;
  }

  get isSigned(): boolean {
    return this.items.some(isSigned);
  }

  identified(used: Set<string>): AssistantItems {
    const calls = withNewIds(this.calls, used, callIds);
    let place = 0;
    const items = this.items.map((item) => {
      if (!isCall(item)) return item;
      const { id = '', argumentsJson } = calls[place] ?? {};
      place += 1;
      return { ...item, call_id: id, arguments: argumentsJson ?? '{}' };
    });
    return new AssistantItems(items, calls);
  }

  /**
   * Items as they are, joined with commas. Thoughts without meaning to a provider without stored responses are left
   * out: it would look for them by their ids.
   */
  get text(): string {
    return this.items
      .filter((item) => !isEmptyThought(item))
      .map((item) => JSON.stringify(item))
      .join(',');
  }

  resultTexts(results: readonly string[]): string[] {
    return this.calls.map(({ id }, index) =>
      JSON.stringify({ type: 'function_call_output', call_id: id, output: results[index] ?? '' }),
    );
  }
}

export class ResponseToolAnswers extends JoinedAnswers {
  protected override read({ output, status }: Fields): AssistantItems | null {
    return Array.isArray(output) ? AssistantItems.of(listOf(output).filter(isFields)).ended(status) : null;
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const output = listOf(answer['output']);
    const remaining = output.filter((item) => !isCall(item) || !this.isOwn(calledName(item)));
    return { answer: { ...answer, output: remaining }, isSame: remaining.length === output.length };
  }
}
