import type { Fields } from '@gatehouse/kit/fields';
import { endFrames, frameOf } from './chunks.ts';
import type { Usage } from '../usage/usage.ts';
import { chatIds, fittingId } from '../translation/call-ids.ts';
import type { EventWriter, OpenStreamCall, OpenPart, WrittenEvent } from '../translation/stream-events.ts';
import { finishReasons, idOf, now } from './answer-writer.ts';

/** Writes the chunks of chat completions. */
export class ChunkWriter implements EventWriter {
  #head: Fields = { id: 'chatcmpl-0', created: 0, model: '' };
  #open: OpenPart | null = null;
  #calls = 0;
  #usage: Usage | null = null;

  write(event: WrittenEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        this.#head = { id: idOf(event.id), created: now(), model: event.model };
        return [this.#chunk({ role: 'assistant', content: '', refusal: null })];
      case 'open':
        this.#open = event.part;
        return event.part.kind === 'call' ? [this.#opened(event.part)] : [];
      case 'delta':
        return this.#delta(event.text);
      case 'close':
        this.#open = null;
        return [];
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'stop':
        return [this.#chunk({}, finishReasons[event.stop.reason])];
      case 'end':
        return endFrames(this.#head, this.#usage);
    }
  }

  #opened({ id, name, isFreeform }: OpenStreamCall): Buffer {
    this.#calls += 1;
    const called = isFreeform
      ? { type: 'custom', custom: { name, input: '' } }
      : { type: 'function', function: { name, arguments: '' } };
    return this.#chunk({ tool_calls: [{ index: this.#calls - 1, id: fittingId(id, chatIds), ...called }] });
  }

  #delta(text: string): Buffer[] {
    switch (this.#open?.kind) {
      case 'text':
        return [this.#chunk({ content: text })];
      case 'refusal':
        return [this.#chunk({ refusal: text })];
      case 'thinking':
        return [this.#chunk({ reasoning_content: text })];
      case 'call': {
        const called = this.#open.isFreeform
          ? { custom: { input: text } }
          : { function: { arguments: text } };
        return [this.#chunk({ tool_calls: [{ index: this.#calls - 1, ...called }] })];
      }
      case undefined:
        return [];
    }
  }

  #chunk(delta: Fields, reason: string | null = null): Buffer {
    const choice = { index: 0, delta, logprobs: null, finish_reason: reason };
    return frameOf({ ...this.#head, object: 'chat.completion.chunk', choices: [choice] });
  }
}
