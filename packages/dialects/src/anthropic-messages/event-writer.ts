import type { Fields } from '@gatehouse/kit/fields';
import { frameOf, stopFrame } from './stream.ts';
import type { Usage } from '../usage/usage.ts';
import { fittingId, messagesIds } from '../translation/call-ids.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import type { EventWriter, OpenPart, WrittenEvent } from '../translation/stream-events.ts';
import { idOf, signatureOf, stopFields, writeUsage } from './response.ts';

/** Writes the events of messages. */
export class MessageWriter implements EventWriter {
  #index = -1;
  /** Whether the open part has its block: a text has it from its first character on, since the API refuses an empty one. */
  #isBegun = false;
  #open: OpenPart | null = null;
  #usage: Usage | null = null;
  #stop: Fields = {};

  write(event: WrittenEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        return [this.#start(event.id, event.model)];
      case 'open':
        this.#open = event.part;
        this.#isBegun = false;
        return isText(event.part) ? [] : [this.#begin(event.part)];
      case 'delta':
        return this.#open === null ? [] : this.#written(this.#open, event.text);
      case 'close':
        return this.#close(event.signature);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'stop':
        // It stands beside the usage, which may come after it.
        this.#stop = stopFields(event.stop);
        return [];
      case 'end':
        return [
          frameOf({ type: 'message_delta', delta: this.#stop, usage: writeUsage(this.#usage) }),
          stopFrame,
        ];
    }
  }

  #start(id: string, model: string): Buffer {
    const message = {
      ...{ id: idOf(id), type: 'message', role: 'assistant', model, content: [] },
      ...{ stop_reason: null, stop_sequence: null, usage: writeUsage(this.#usage) },
    };
    return frameOf({ type: 'message_start', message });
  }

  #begin(part: OpenPart): Buffer {
    this.#isBegun = true;
    this.#index += 1;
    return frameOf({ type: 'content_block_start', index: this.#index, content_block: blockOf(part) });
  }

  #written(part: OpenPart, text: string): Buffer[] {
    if (!this.#isBegun && text === '') return [];
    return [...(this.#isBegun ? [] : [this.#begin(part)]), this.#delta(deltaOf(part, text))];
  }

  #close(blockSignature: ReasoningSignature | null): Buffer[] {
    const isThought = this.#open?.kind === 'thinking';
    this.#open = null;
    if (!this.#isBegun) return [];
    const signature = isThought ? signatureOf(blockSignature) : '';
    return [
      ...(signature === '' ? [] : [this.#delta({ type: 'signature_delta', signature })]),
      frameOf({ type: 'content_block_stop', index: this.#index }),
    ];
  }

  #delta(delta: Fields): Buffer {
    return frameOf({ type: 'content_block_delta', index: this.#index, delta });
  }
}

function isText({ kind }: OpenPart): boolean {
  return kind === 'text' || kind === 'refusal';
}

function blockOf(part: OpenPart): Fields {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'call':
      return { type: 'tool_use', id: fittingId(part.id, messagesIds), name: part.name, input: {} };
  }
}

function deltaOf({ kind }: OpenPart, text: string): Fields {
  switch (kind) {
    case 'text':
    case 'refusal':
      return { type: 'text_delta', text };
    case 'thinking':
      return { type: 'thinking_delta', thinking: text };
    case 'call':
      return { type: 'input_json_delta', partial_json: text };
  }
}
