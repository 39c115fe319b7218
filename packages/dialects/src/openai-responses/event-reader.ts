import { maxParts } from '../bounds.ts';
import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { laterUsage, withToolCalls, type Usage } from '../usage/usage.ts';
import { assertReadable } from '../wire/readable.ts';
import { frameData } from '../wire/sse-frames.ts';
import type { FrameKind, StreamReader } from '../dialect.ts';
import { StreamMeter } from '../stream-meter.ts';
import {
  eventError,
  eventOf,
  indexOf,
  isEnd,
  isHead,
  mayEndBehind,
  responseIn,
  type ResponseEvent,
} from './events.ts';
import { HostedCalls } from './hosted-calls.ts';
import { addItem, isCall, spokenText } from './items.ts';
import { textOf } from '../translation/fields.ts';
import { maxHeadBytes } from '../bounds.ts';

/** Reads usage, text and the end from the events of a stream. Unknown events pass. */
export class EventReader extends StreamMeter implements StreamReader {
  #usage: Usage | null = null;
  serviceTier: string | null = null;
  complete = false;
  #headBytes = 0;
  /** The provider's own, which the client gets once the run has ended. */
  #end: Buffer[] = [];
  #mayEnd = false;
  /** Places of the items with a text received in pieces, or as a whole. */
  readonly #read = new Set<number>();
  readonly #hosted = new HostedCalls();

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    const event = eventOf(frame);
    if (event === null) return frameData(frame) === '[DONE]' ? 'foreign' : 'other';
    const { type, fields } = event;
    if (isHead(type)) {
      this.#readResponse(responseIn(fields));
      this.#headBytes += frame.length;
      this.begun ||= this.#headBytes > maxHeadBytes;
      return 'chunk';
    }
    if (isEnd(type)) {
      this.#readEnd(responseIn(fields));
      this.#end = [frame];
      return 'done';
    }
    if (type === 'response.failed') this.#readResponse(responseIn(fields));
    const error = eventError(event);
    if (error !== null) return this.failed(error);
    if (type.startsWith('response.')) {
      this.begun = true;
      this.#mayEnd = mayEndBehind(event);
    }
    return this.#readOutput(event);
  }

  /** The event with the end has the usage. */
  get awaitsUsage(): boolean {
    return this.#mayEnd && !this.complete;
  }

  get usage(): Usage | null {
    return withToolCalls(this.#usage, this.complete ? this.#hosted.counted : this.#hosted.startedCalls);
  }

  /** The provider's own end, held until the run has ended. */
  endFrames(): Buffer[] {
    return this.#end;
  }

  #readResponse(response: Fields): void {
    const { model, usage } = response;
    this.addModel(model);
    this.#usage = laterUsage(this.#usage, readUsage(usage));
    this.serviceTier = readServiceTier(response) ?? this.serviceTier;
  }

  /** Some servers send items in their last event alone. */
  #readEnd(response: Fields): void {
    this.#readResponse(response);
    this.begun = true;
    this.complete = true;
    for (const [index, item] of listOf(response['output']).entries()) this.#readItem(index, item);
  }

  /** Some servers send deltas by other names. */
  #readOutput({ type, fields }: ResponseEvent): FrameKind {
    const index = indexOf(fields);
    const { item, delta } = fields;
    if (type === 'response.output_item.added') {
      this.addText(isFields(item) ? textOf(item['name']) : '');
      if (isFields(item) && index !== null) this.#hosted.begin(item, index);
    } else if (type === 'response.output_item.done' && index !== null) this.#readItem(index, item);
    else if (index !== null && typeof delta === 'string') {
      this.#note(index);
      this.addText(delta, type === 'response.output_text.delta' ? delta : '');
    } else if (type === '') return 'foreign';
    return 'chunk';
  }

  /** A whole item. Its text counts unless it has been read. */
  #readItem(index: number, item: unknown): void {
    this.callsTools ||= isCall(item);
    if (!isFields(item)) return;
    // Its code may have come in pieces.
    this.#hosted.add(item, index);
    if (this.#read.has(index)) return;
    this.#note(index);
    addItem(this.sample, { ...item, name: undefined });
    if (item['type'] === 'message') this.addSpoken(spokenText(item));
  }

  #note(index: number): void {
    this.#read.add(index);
    if (this.#read.size > maxParts) throw new Error('the answer has too many items');
  }
}
