import type { Fields } from '@gatehouse/kit/fields';
import type { Usage } from '../usage/usage.ts';
import type { Stop } from '../translation/answer.ts';
import { writeJson } from '../wire/json-text.ts';
import type { EventWriter, OpenPart, WrittenEvent } from '../translation/stream-events.ts';
import { keepAlivePart } from './content.ts';
import { HeldThoughts } from './held-thoughts.ts';
import { callPart, finishReasons, writeUsage } from './response.ts';
import { maxBuiltChars } from '../bounds.ts';

/** Writes the frames of Gemini. */
export class GeminiWriter implements EventWriter {
  #head: Fields = {};
  #open: OpenPart | null = null;
  readonly #thoughts = new HeldThoughts();
  #pieces: string[] = [];
  #chars = 0;
  #usage: Usage | null = null;
  #stop: Stop = { reason: 'end', sequence: null };

  write(event: WrittenEvent): Buffer[] {
    switch (event.type) {
      case 'start':
        this.#head = { modelVersion: event.model, responseId: event.id };
        return [];
      case 'open':
        this.#open = event.part;
        this.#pieces = [];
        this.#chars = 0;
        return [];
      case 'delta':
        return this.#delta(event.text);
      case 'close':
        if (this.#open?.kind === 'thinking') this.#thoughts.end(event.signature);
        return this.#close(event.isCut === true);
      case 'usage':
        this.#usage = event.usage;
        return [];
      case 'stop':
        this.#stop = event.stop;
        return [];
      case 'end':
        return [this.#frame([this.#thoughts.signed(keepAlivePart)], finishReasons[this.#stop.reason])];
    }
  }

  #delta(text: string): Buffer[] {
    switch (this.#open?.kind) {
      case 'text':
      case 'refusal':
        return text === '' ? [] : [this.#frame([this.#thoughts.signed({ text })])];
      case 'thinking':
        this.#thoughts.add(text);
        return [this.#frame([{ text, thought: true }])];
      case 'call':
        this.#pieces.push(text);
        this.#chars += text.length;
        if (this.#chars > maxBuiltChars) throw new Error('the arguments of a call are too large');
        return [];
      case undefined:
        return [];
    }
  }

  /** Only calls are written at their end. */
  #close(isCut: boolean): Buffer[] {
    const part = this.#open;
    this.#open = null;
    if (part?.kind !== 'call' || isCut) return [];
    const call = callPart({ id: part.id, name: part.name, argumentsText: this.#pieces.join('') });
    return [this.#frame([this.#thoughts.signed(call)])];
  }

  #frame(parts: readonly Fields[], finishReason?: string): Buffer {
    const content = { role: 'model', parts };
    const usage = finishReason !== undefined &&
      this.#usage !== null && { usageMetadata: writeUsage(this.#usage) };
    const response = {
      candidates: [{ content, ...(finishReason !== undefined && { finishReason }), index: 0 }],
      ...usage,
      ...this.#head,
    };
    return Buffer.from(`data: ${writeJson(response)}\n\n`);
  }
}
