import type { Fields } from '@gatehouse/kit/fields';
import type { RefusalWriter } from '../refusal-writer.ts';
import type { Usage } from '../usage/usage.ts';
import { writeUsage } from './response.ts';
import { eventOf, frameOf, stopFrame } from './stream.ts';

const begin = 'content_block_start';
const bounds = /content_block_st(?:art|op)/;

/** Ends messages with the stop reason `refusal`, and its explanation in `stop_details`. */
export class MessageRefusalWriter implements RefusalWriter {
  /** The block under way; null between two. */
  #openBlock: number | null = null;
  #explanation: string | null = null;

  get open(): readonly number[] {
    return this.#explanation === null ? [0] : [];
  }

  see(_frame: Buffer): void {
    // The first event has no text of the model, so the client gets it.
  }

  left(frame: Buffer): void {
    const event = bounds.test(frame.toString('latin1')) ? eventOf(frame) : null;
    if (event?.type === begin) this.#openBlock = event.index;
    else if (event?.type === 'content_block_stop') this.#openBlock = null;
  }

  refuse(_choice: number, message: string): Buffer[] {
    this.#explanation = message;
    return this.#openBlock === null ? [] : [frameOf({ type: 'content_block_stop', index: this.#openBlock })];
  }

  isBeginning(frame: Buffer): boolean {
    if (!frame.includes(begin)) return false;
    const event = eventOf(frame);
    const { type } = Object(event?.fields['content_block']) as Fields;
    return event?.type === begin && (type === 'text' || type === 'thinking');
  }

  without(frame: Buffer): Buffer | null {
    return this.#explanation === null ? frame : null;
  }

  endFrames(usage: Usage | null): Buffer[] {
    const stop_details = { type: 'refusal', category: null, explanation: this.#explanation };
    const delta = { stop_reason: 'refusal', stop_sequence: null, stop_details };
    return [frameOf({ type: 'message_delta', delta, usage: writeUsage(usage) }), stopFrame];
  }
}
