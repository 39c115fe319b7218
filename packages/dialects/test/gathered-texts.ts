import type { DialectName } from '@gatehouse/contract/dialects';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { dialects } from '../src/dialects.ts';
import { FrameReader, type FrameTexts } from '../src/text-view/frame-reader.ts';
import type { TextChannel } from '../src/text-view/text-channel.ts';
import { frameData } from '../src/wire/sse-frames.ts';

/** A frame of a stream. */
export const frameOf = (data: Fields | string): Buffer => {
  const event = isFields(data) && typeof data['type'] === 'string' ? `event: ${data['type']}\n` : '';
  return Buffer.from(`${event}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
};

/** The object in a frame. */
export const dataOf = (frame: Buffer): Fields => {
  const data: unknown = JSON.parse(frameData(frame) ?? '');
  if (!isFields(data)) throw new Error('the frame has no object');
  return data;
};

/** Reads frames, and gathers the texts of their channels. */
export class GatheredTexts {
  readonly texts = new Map<TextChannel, string>();
  readonly frames: FrameTexts[];
  readonly #reader: FrameReader;

  constructor(name: DialectName, frames: readonly Buffer[]) {
    this.#reader = new FrameReader(dialects[name].texts.frame);
    this.frames = frames.map((frame) => {
      const read = this.#reader.read(frame);
      for (const { channel, value } of read.pieces)
        this.texts.set(channel, (this.texts.get(channel) ?? '') + value);
      return read;
    });
  }

  get all(): string[] {
    return [...this.texts].map(([{ kind, isFixed }, text]) => `${kind} ${isFixed ? '=' : ''}${text}`);
  }

  /** Puts a text in the place of each occurrence of another one in the texts. */
  replace(value: string, text: string): this {
    for (const [channel, all] of this.texts)
      for (let from = all.indexOf(value); from >= 0; from = all.indexOf(value, from + value.length))
        channel.replace({ from, until: from + value.length, text });
    return this;
  }

  written(): Buffer[] {
    return this.frames.map((frame) => frame.rewritten());
  }
}

/** A chunk of chat completions. */
export const chunk = (delta: Fields, others: Fields = {}): Fields => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...others }],
  obfuscation: 'aB3',
});

/** A piece of arguments in it. */
export const called = (args: string): Fields => ({
  tool_calls: [{ index: 0, function: { arguments: args } }],
});

/** Members of events about an item of a response. */
export const item = { output_index: 0, item_id: 'msg_1' };
/** Members of events about a part of a response. */
export const part = { ...item, content_index: 0 };
