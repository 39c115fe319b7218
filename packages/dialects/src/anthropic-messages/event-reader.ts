import { isFields, type Fields } from '@gatehouse/kit/fields';
import { latestReport } from '../usage/reported-usage.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import type { Usage } from '../usage/usage.ts';
import { assertReadable } from '../wire/readable.ts';
import type { FrameKind, StreamReader } from '../dialect.ts';
import { StreamMeter } from '../stream-meter.ts';
import { publicErrorIn, parsePublicError } from '../public-errors.ts';
import { contentText, spokenText } from './content.ts';
import { callsTools, eventOf, firstUsage, hasStopped, isThought, stopFrame } from './events.ts';

/**
 * Reads usage, text and the end from the events of a stream. Unknown events pass; a ping passes too, since it may come
 * before the first block.
 */
export class EventReader extends StreamMeter implements StreamReader {
  complete = false;
  #usage: Fields = {};
  #end: Buffer = stopFrame;
  /** Whether a block has ended that may be the last one, and none has begun since. */
  #mayEnd = false;
  #isThought = false;

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    const event = eventOf(frame);
    if (event === null) return 'other';
    const { type, fields } = event;
    switch (type) {
      case 'message_start':
        // It is kept until the first block comes.
        if (frame.length > maxStartBytes) throw new Error('the start of the message is too large');
        this.#readStart(fields['message']);
        return 'chunk';
      case 'content_block_start':
        this.begun = true;
        this.#mayEnd = false;
        this.#isThought = isThought(fields['content_block']);
        this.#addContent([fields['content_block']]);
        return 'chunk';
      case 'content_block_stop':
        this.#mayEnd = !this.#isThought;
        return 'chunk';
      case 'content_block_delta':
        this.begun = true;
        this.#addDelta(Object(fields['delta']) as Fields);
        return 'chunk';
      case 'message_delta':
        this.begun = true;
        this.complete ||= hasStopped(fields['delta']);
        this.callsTools ||= callsTools(fields['delta']);
        this.#usage = latestReport(this.#usage, fields['usage']);
        return 'chunk';
      case 'message_stop':
        this.#end = frame;
        return 'done';
      case 'error':
        return this.failed(parsePublicError(fields));
      default: {
        const error = publicErrorIn(fields);
        if (error !== null) return this.failed(error);
        return type === '' ? 'foreign' : 'chunk';
      }
    }
  }

  /** The event with the end has the usage. */
  get awaitsUsage(): boolean {
    return this.#mayEnd && !this.complete;
  }

  get usage(): Usage | null {
    return readUsage(this.#usage);
  }

  get serviceTier(): string | null {
    return readServiceTier({ usage: this.#usage });
  }

  /** The provider's own end, held until the run has ended. */
  endFrames(): Buffer[] {
    return [this.#end];
  }

  #readStart(message: unknown): void {
    if (!isFields(message)) return;
    const { model, content } = message;
    this.addModel(model);
    this.#usage = latestReport(this.#usage, firstUsage(message));
    this.#addContent(content);
  }

  #addContent(content: unknown): void {
    this.addText(contentText(content), spokenText(content));
  }

  #addDelta({ text, thinking, partial_json: json }: Fields): void {
    for (const piece of [thinking, json]) if (typeof piece === 'string') this.addText(piece);
    if (typeof text === 'string') this.addText(text, text);
  }
}

const maxStartBytes = 32 * 1024;
