import { functionCall } from '../translation/call-ids.ts';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { MessageProgress, eventOf } from './stream.ts';
import { readServiceTier, readUsage } from '../usage/usage-reader.ts';
import { frameData } from '../wire/sse-frames.ts';
import { type ReasoningSignature } from '../translation/conversation.ts';
import { textIn, textOf } from '../translation/fields.ts';
import { JsonSource } from '../wire/json-text.ts';
import type { OpenPart, StreamEvent } from '../translation/stream-events.ts';
import { endingOf } from './response.ts';
import { thinkingPart } from './content-reader.ts';
import { AnswerSource } from '../translation/answer-source.ts';
import { maxParts, maxWaitingChars } from '../bounds.ts';

interface OpenBlock {
  /** Written where no piece of the input comes. */
  input: string | null;
  signature: string;
  /** The signature at the start of the block. */
  opening: ReasoningSignature | null;
}

/** Reads the events of messages. */
export class MessageSource extends AnswerSource {
  readonly #blocks = new Map<number, OpenBlock>();
  readonly #progress = new MessageProgress();
  #signatureChars = 0;

  protected override readFrame(frame: Buffer): StreamEvent[] {
    const event = eventOf(frame);
    if (event === null) return [];
    const { type, fields, index, error } = event;
    if (error !== null) return this.failed(error);
    this.#progress.add(event);
    switch (type) {
      case 'message_start':
        return this.#start(fields['message']);
      case 'content_block_start':
        return [...this.#start({}), ...this.#open(index, fields['content_block'], frame)];
      case 'content_block_delta':
        return this.#delta(index, Object(fields['delta']) as Fields);
      case 'content_block_stop':
        return this.#close(index);
      case 'message_delta':
        return this.#messageDelta(fields);
      case 'message_stop':
        return this.finished();
      default:
        return [];
    }
  }

  override get awaitsUsage(): boolean {
    return this.#progress.awaitsUsage && !this.isOver;
  }

  #start(message: unknown): StreamEvent[] {
    if (!isFields(message)) return [];
    const started = this.start(message['id'], message['model']);
    return started.length === 0 ? [] : [...started, ...this.#used()];
  }

  #used(): StreamEvent[] {
    const usage = readUsage(this.#progress.usage);
    const serviceTier = readServiceTier({ usage: this.#progress.usage });
    return usage === null ? [] : [{ type: 'usage', usage, serviceTier }];
  }

  #messageDelta(fields: Fields): StreamEvent[] {
    const delta = Object(fields['delta']) as Fields;
    if (typeof delta['stop_reason'] === 'string') this.ending = endingOf(delta);
    return [...this.#start({}), ...this.#used()];
  }

  #open(index: number, block: unknown, frame: Buffer): StreamEvent[] {
    if (!isFields(block) || this.#blocks.has(index)) return [];
    const part = openPart(block);
    if (part === null) return [];
    if (this.#blocks.size >= maxParts) throw new Error('the answer has too many blocks');
    const opening = part.kind === 'thinking' ? thinkingPart(block).signature : null;
    const input = part.kind === 'call' ? inputOf(frame) : null;
    this.#blocks.set(index, { input, signature: '', opening });
    const first = part.kind === 'call' ? '' : (textIn(block['text']) ?? textOf(block['thinking']));
    return [...this.sequence.open(keyOf(index), part), ...this.sequence.add(keyOf(index), first)];
  }

  #delta(index: number, { type, text, thinking, signature, partial_json: json }: Fields): StreamEvent[] {
    const block = this.#blocks.get(index);
    if (block === undefined) return [];
    if (type === 'signature_delta') {
      const piece = textOf(signature);
      block.signature += piece;
      this.#signatureChars += piece.length;
      if (this.#signatureChars > maxWaitingChars)
        throw new Error('the signatures of the answer are too long');
      return [];
    }
    if (typeof json === 'string' && json !== '') block.input = null;
    return this.sequence.add(keyOf(index), textIn(text) ?? textIn(thinking) ?? textOf(json));
  }

  protected override closeAll(): StreamEvent[] {
    return [...this.#blocks.keys()].flatMap((index) => this.#close(index));
  }

  #close(index: number): StreamEvent[] {
    const block = this.#blocks.get(index);
    if (block === undefined) return [];
    this.#blocks.delete(index);
    const { input, signature, opening } = block;
    const signed = signature === '' ? opening : thinkingPart({ type: 'thinking', signature }).signature;
    return [...this.sequence.add(keyOf(index), input ?? ''), ...this.sequence.close(keyOf(index), signed)];
  }
}

/** The part of a block; null for a block of the provider's own tools. */
function openPart({ type, id, name }: Fields): OpenPart | null {
  switch (type) {
    case 'text':
      return { kind: 'text' };
    case 'thinking':
    case 'redacted_thinking':
      return { kind: 'thinking' };
    case 'tool_use':
      return functionCall(id, name);
    default:
      return null;
  }
}

/** The input in the start of a call, as it is written: some servers send it there. */
function inputOf(frame: Buffer): string {
  const source = new JsonSource(Buffer.from(frameData(frame) ?? '{}'));
  return source.member('content_block')?.textOf('input') ?? '{}';
}

function keyOf(index: number): string {
  return String(index);
}
