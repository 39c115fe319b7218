import { functionCall } from '../translation/call-ids.ts';
import { isFields, type Fields } from '@gatehouse/kit/fields';
import { readUsage } from '../usage/usage-reader.ts';
import { exceptionEvent } from '../wire/aws-event-frames.ts';
import { frameData, frameEvent } from '../wire/sse-frames.ts';
import { hasMedia } from '../translation/answer.ts';
import { numberIn, textOf } from '../translation/fields.ts';
import type { OpenPart, StreamEvent } from '../translation/stream-events.ts';
import { endingOf, isMedia, isOwn, signatureOf, tierOf } from './response.ts';
import { exceptionIn } from './errors.ts';
import { AnswerSource } from '../translation/answer-source.ts';
import { maxParts, maxWaitingChars } from '../bounds.ts';

interface ConverseBlock {
  kind: OpenPart['kind'];
  /** Whether a piece of it has come. */
  isBegun: boolean;
  signature: string;
  /** Pieces of encrypted thoughts, each in base64. */
  redacted: string[];
}

/**
 * Reads the events of ConverseStream. Texts and thoughts begin with their first piece; only calls have an event at their
 * start. Usage comes behind the stop.
 */
export class ConverseSource extends AnswerSource {
  /** By index. */
  readonly #blocks = new Map<number, ConverseBlock>();
  #signatureChars = 0;

  protected override readFrame(frame: Buffer): StreamEvent[] {
    const data = frameData(frame);
    if (data === null || data === '') return [];
    const fields: unknown = JSON.parse(data);
    if (!isFields(fields)) throw new Error('an event of the stream is not an object');
    const index = numberIn(fields['contentBlockIndex']) ?? 0;
    switch (frameEvent(frame)) {
      case 'messageStart':
        return this.#start();
      case 'contentBlockStart':
        return [...this.#start(), ...this.#call(index, Object(fields['start']) as Fields)];
      case 'contentBlockDelta':
        return [...this.#start(), ...this.#delta(index, Object(fields['delta']) as Fields)];
      case 'contentBlockStop':
        return this.#close(index);
      case 'messageStop':
        this.ending = endingOf(fields);
        return this.#start();
      case 'metadata':
        return this.#metadata(fields);
      case exceptionEvent:
        return this.failed(exceptionIn(fields));
      default:
        return [];
    }
  }

  override get awaitsUsage(): boolean {
    return this.ending !== null && !this.isOver;
  }

  /** It is the last event: some connections stay open behind it. */
  #metadata(fields: Fields): StreamEvent[] {
    const usage = readUsage(fields['usage']);
    const serviceTier = tierOf(fields);
    const used: StreamEvent[] = usage === null ? [] : [{ type: 'usage', usage, serviceTier }];
    return [...used, ...this.end()];
  }

  #start(): StreamEvent[] {
    return this.start('', this.facts.name);
  }

  protected override closeAll(): StreamEvent[] {
    return [...this.#blocks.keys()].flatMap((index) => this.#close(index));
  }

  #call(index: number, { toolUse }: Fields): StreamEvent[] {
    if (!isFields(toolUse) || !isOwn(toolUse)) return [];
    const { toolUseId, name } = toolUse;
    return [...this.#close(index), ...this.#open(index, functionCall(toolUseId, name))];
  }

  #delta(index: number, delta: Fields): StreamEvent[] {
    const { text, toolUse, reasoningContent } = delta;
    if (isMedia(delta)) return this.failed(hasMedia);
    if (typeof text === 'string') return this.#piece(index, 'text', text);
    if (isFields(reasoningContent)) return this.#thought(index, reasoningContent);
    const block = this.#blocks.get(index);
    if (!isFields(toolUse) || block?.kind !== 'call') return [];
    return this.#add(index, block, textOf(toolUse['input']));
  }

  #thought(index: number, { text, signature, redactedContent }: Fields): StreamEvent[] {
    const events = this.#piece(index, 'thinking', textOf(text));
    const block = this.#blocks.get(index);
    if (block === undefined) return events;
    const [signed, redacted] = [textOf(signature), textOf(redactedContent)];
    const chars = signed.length + redacted.length;
    if (chars === 0) return events;
    // Each piece takes memory of its own.
    this.#signatureChars += chars + 64;
    if (this.#signatureChars > maxWaitingChars) throw new Error('the signatures of the answer are too long');
    block.signature += signed;
    if (redacted !== '') block.redacted.push(redacted);
    return events;
  }

  /** More of a text or a thought, which begins with it. */
  #piece(index: number, kind: 'text' | 'thinking', text: string): StreamEvent[] {
    const open = this.#blocks.get(index);
    if (open?.kind === kind) return this.#add(index, open, text);
    const events = [...this.#close(index), ...this.#open(index, { kind })];
    const block = this.#blocks.get(index);
    return block === undefined ? events : [...events, ...this.#add(index, block, text)];
  }

  #add(index: number, block: ConverseBlock, text: string): StreamEvent[] {
    block.isBegun ||= text !== '';
    return this.sequence.add(String(index), text);
  }

  #open(index: number, part: OpenPart): StreamEvent[] {
    if (this.#blocks.size >= maxParts) throw new Error('the answer has too many blocks');
    this.#blocks.set(index, { kind: part.kind, isBegun: false, signature: '', redacted: [] });
    return this.sequence.open(String(index), part);
  }

  #close(index: number): StreamEvent[] {
    const block = this.#blocks.get(index);
    if (block === undefined) return [];
    this.#blocks.delete(index);
    const { signature } = block;
    const redacted = joined(block.redacted);
    const signed = block.kind === 'thinking' ? signatureOf({ signature, redacted }, this.facts) : null;
    // Calls without input have no piece.
    const input = block.kind === 'call' && !block.isBegun ? '{}' : '';
    return [...this.sequence.add(String(index), input), ...this.sequence.close(String(index), signed)];
  }
}

/** Pieces in base64 as one. */
function joined(pieces: readonly string[]): string {
  const [only = ''] = pieces;
  if (pieces.length < 2) return only;
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString('base64');
}
