import { isFields, type Fields } from '@gatehouse/kit/fields';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import type { Usage } from '../usage/usage.ts';
import { assertReadable } from '../wire/readable.ts';
import type { FrameKind, StreamReader } from '../dialect.ts';
import { StreamMeter } from '../stream-meter.ts';
import { contentText, spokenText } from './content.ts';
import { callsTools, eventOf, MessageProgress, stopFrame } from './events.ts';

/**
 * Reads usage, text and the end from the events of a stream. Unknown events pass; a ping passes too, since it may come
 * before the first block.
 */
export class EventReader extends StreamMeter implements StreamReader {
  readonly #progress = new MessageProgress();
  #end: Buffer = stopFrame;

  read(frame: Buffer): FrameKind {
    assertReadable(frame);
    const event = eventOf(frame);
    if (event === null) return 'other';
    const { type, fields, error } = event;
    if (error !== null) return this.failed(error);
    this.#progress.add(event);
    switch (type) {
      case 'message_start':
        // It is kept until the first block comes.
        if (frame.length > maxStartBytes) throw new Error('the start of the message is too large');
        this.#readStart(fields['message']);
        return 'chunk';
      case 'content_block_start':
        this.begun = true;
        this.#addContent([fields['content_block']]);
        return 'chunk';
      case 'content_block_delta':
        this.begun = true;
        this.#addDelta(Object(fields['delta']) as Fields);
        return 'chunk';
      case 'message_delta':
        this.begun = true;
        this.callsTools ||= callsTools(fields['delta']);
        return 'chunk';
      case 'message_stop':
        this.#end = frame;
        return 'done';
      default:
        return type === '' ? 'foreign' : 'chunk';
    }
  }

  get complete(): boolean {
    return this.#progress.hasStopped;
  }

  get awaitsUsage(): boolean {
    return this.#progress.awaitsUsage;
  }

  get usage(): Usage | null {
    return readUsage(this.#progress.usage);
  }

  get serviceTier(): string | null {
    return readServiceTier({ usage: this.#progress.usage });
  }

  /** The provider's own end, held until the run has ended. */
  endFrames(): Buffer[] {
    return [this.#end];
  }

  #readStart(message: unknown): void {
    if (!isFields(message)) return;
    const { model, content } = message;
    this.addModel(model);
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
