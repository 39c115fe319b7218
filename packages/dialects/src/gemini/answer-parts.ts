import type { Fields } from '@gatehouse/kit/fields';
import type { AnswerPart } from '../translation/answer.ts';
import { functionCall, newCallId } from '../translation/call-ids.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import { textOf } from '../translation/fields.ts';
import type { StreamEvent } from '../translation/stream-events.ts';
import type { JsonSource } from '../wire/json-text.ts';
import { callIn, ownSignature } from './content.ts';
import { memberIn } from './fields.ts';

/**
 * Reads the parts of an answer, whole or in pieces, as events. A signature ends the thought before it. One inside of a
 * text, which models give with its last piece, comes behind this text. Parts of the provider's own tools are left out.
 */
export class AnswerPartReader {
  #open: 'text' | 'thinking' | null = null;
  /** The signature of the open text. */
  #behind: ReasoningSignature | null = null;

  read(part: Fields, source: JsonSource | null): StreamEvent[] {
    const signature = ownSignature(part);
    const call = callIn(part);
    if (call !== null)
      return this.#call(call, memberIn(source, 'functionCall')?.textOf('args') ?? '{}', signature);
    const text = textOf(part['text']);
    if (part['thought'] === true) return this.#thought(text, signature);
    if (this.#open === 'text') {
      this.#behind = signature ?? this.#behind;
      return deltaOf(text);
    }
    if (text === '') return this.#signed(signature);
    const before = [...this.#signed(signature), ...this.close()];
    this.#open = 'text';
    return [...before, { type: 'open', part: { kind: 'text' } }, ...deltaOf(text)];
  }

  /** Ends the open part. */
  close(): StreamEvent[] {
    if (this.#open === null) return [];
    const behind = this.#behind;
    this.#open = null;
    this.#behind = null;
    return [{ type: 'close', signature: null }, ...thoughtOf(behind)];
  }

  #thought(text: string, signature: ReasoningSignature | null): StreamEvent[] {
    if (text === '' && signature === null) return [];
    const opened: StreamEvent[] =
      this.#open === 'thinking' ? [] : [...this.close(), { type: 'open', part: { kind: 'thinking' } }];
    this.#open = signature === null ? 'thinking' : null;
    const closed: StreamEvent[] = signature === null ? [] : [{ type: 'close', signature }];
    return [...opened, ...deltaOf(text), ...closed];
  }

  #call({ id, name }: Fields, args: string, signature: ReasoningSignature | null): StreamEvent[] {
    const { argumentsText: delta, ...call } = functionCall(textOf(id) || newCallId(), name, args);
    return [
      ...this.#signed(signature),
      ...this.close(),
      { type: 'open', part: call },
      { type: 'delta', text: delta },
      { type: 'close', signature: null },
    ];
  }

  /** The signature of the next part: of the thought before it, or of one without a text. */
  #signed(signature: ReasoningSignature | null): StreamEvent[] {
    if (signature === null) return [];
    if (this.#open !== 'thinking') return [...this.close(), ...thoughtOf(signature)];
    this.#open = null;
    return [{ type: 'close', signature }];
  }
}

function deltaOf(text: string): StreamEvent[] {
  return text === '' ? [] : [{ type: 'delta', text }];
}

function thoughtOf(signature: ReasoningSignature | null): StreamEvent[] {
  return signature === null
    ? []
    : [
        { type: 'open', part: { kind: 'thinking' } },
        { type: 'close', signature },
      ];
}

/** The parts of a whole answer. `sourceOf`: the text of a part. */
export function answerPartsOf(
  parts: readonly Fields[],
  sourceOf: (index: number) => JsonSource | null,
): AnswerPart[] {
  const reader = new AnswerPartReader();
  const events = parts.flatMap((part, index) => reader.read(part, sourceOf(index)));
  const built: AnswerPart[] = [];
  let texts: string[] = [];
  for (const event of [...events, ...reader.close()]) {
    if (event.type === 'delta') texts.push(event.text);
    else if (event.type === 'open') {
      texts = [];
      built.push(emptyPart(event.part));
    } else if (event.type === 'close') {
      const last = built.at(-1);
      if (last?.kind === 'call') last.argumentsText = texts.join('');
      else if (last !== undefined) last.text = texts.join('');
      if (last?.kind === 'thinking') last.signature = event.signature;
    }
  }
  return built;
}

function emptyPart(part: Extract<StreamEvent, { type: 'open' }>['part']): AnswerPart {
  if (part.kind === 'call') return { ...part, argumentsText: '' };
  return part.kind === 'thinking' ? { ...part, text: '', signature: null } : { ...part, text: '' };
}
