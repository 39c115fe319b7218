import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { parseFrame, errorInChoice, hasFinished, SpokenChoice } from './chunks.ts';
import { MessageBuilder } from './message-builder.ts';
import { argumentsOf, idOf } from './tool-calls.ts';
import { readServiceTier, usageIn } from '../usage/usage-reader.ts';
import { laterUsage, type Usage } from '../usage/usage.ts';
import { hasMedia } from '../translation/answer.ts';
import { newCallId } from '../translation/call-ids.ts';
import { textIn, textOf } from '../translation/fields.ts';
import type { StreamEvent } from '../translation/stream-events.ts';
import { callSignature, endingOf, outputText, saysMedia, signatureOf } from './whole-answer.ts';
import { AnswerSource } from '../translation/answer-source.ts';
import { withoutAccount } from '../provider-errors.ts';

/** A call in a stream, until it is open. */
interface StreamedCall {
  balance: JsonBalance;
  /** Pieces of arguments from before the name. */
  early: string[];
  state: 'unnamed' | 'open' | 'closed';
  hasArguments: boolean;
}

/** Reads the chunks of chat completions, in all ways in which servers write them. */
export class ChunkSource extends AnswerSource {
  readonly #spoken = new SpokenChoice();
  /** Keeps the calls alone. */
  readonly #builder = new MessageBuilder();
  readonly #calls: StreamedCall[] = [];
  #usage: Usage | null = null;
  /** Whether usage came with the finish reason, or after it. */
  #hasLastUsage = false;
  #serviceTier: string | null = null;

  protected override readFrame(frame: Buffer): StreamEvent[] {
    const parsed = parseFrame(frame);
    switch (parsed.type) {
      case 'empty':
        return [];
      case 'done':
        return this.finished();
      case 'error':
        return this.failed(withoutAccount(parsed.error));
      case 'chunk':
        return this.#chunk(parsed.chunk);
    }
  }

  #chunk(chunk: Fields): StreamEvent[] {
    const usage = laterUsage(this.#usage, usageIn(chunk));
    this.#serviceTier = readServiceTier(chunk) ?? this.#serviceTier;
    const events: StreamEvent[] = [];
    const [choice] = listOf(chunk['choices']);
    if (isFields(choice)) {
      const broken = errorInChoice(choice);
      if (broken !== null) return this.failed(withoutAccount(broken));
      events.push(...this.start(chunk['id'], chunk['model']), ...this.#choice(choice));
    }
    if (usage !== null && usage !== this.#usage) {
      this.#hasLastUsage ||= this.ending !== null;
      events.push({ type: 'usage', usage, serviceTier: this.#serviceTier });
    }
    this.#usage = usage;
    return events;
  }

  override get awaitsUsage(): boolean {
    return this.ending !== null && !this.#hasLastUsage && !this.isOver;
  }

  #choice(choice: Fields): StreamEvent[] {
    const delta = this.#spoken.newIn(choice);
    const events = delta === null ? [] : this.#delta(delta);
    if (hasFinished(choice['finish_reason'])) this.ending ??= endingOf(choice['finish_reason']);
    return events;
  }

  #delta(delta: Fields): StreamEvent[] {
    const { refusal } = delta;
    if (saysMedia(delta)) this.ending = { ...endingOf(null), broken: hasMedia };
    const thought = textIn(delta['reasoning_content']) ?? textOf(delta['reasoning']);
    const pieces = this.#builder.add({
      tool_calls: delta['tool_calls'],
      function_call: delta['function_call'],
    });
    return [
      ...this.#text('thinking', thought),
      ...this.#text('text', outputText(delta)),
      ...this.#text('refusal', textOf(refusal)),
      ...pieces.flatMap(({ place, call }) => this.#piece(place, call)),
    ];
  }

  /** Another kind of text ends the one before. Calls go on beside it. */
  #text(kind: 'thinking' | 'text' | 'refusal', text: string): StreamEvent[] {
    if (text === '') return [];
    const others = textKinds.filter((each) => each !== kind);
    const events = others.flatMap((each) => this.#closeText(each));
    if (!this.sequence.has(kind)) events.push(...this.sequence.open(kind, { kind }));
    return [...events, ...this.sequence.add(kind, text)];
  }

  #closeText(kind: (typeof textKinds)[number]): StreamEvent[] {
    return this.sequence.close(kind, kind === 'thinking' ? signatureOf(this.facts) : null);
  }

  #piece(place: number, piece: Fields): StreamEvent[] {
    const call = (this.#calls[place] ??= {
      ...{ balance: new JsonBalance(), early: [], hasArguments: false },
      state: 'unnamed',
    });
    const text = argumentsOf(piece);
    const events = textKinds.flatMap((kind) => this.#closeText(kind));
    if (call.state === 'unnamed') {
      const name = this.#builder.nameOf(place);
      call.early.push(text);
      if (name === '') return events;
      call.state = 'open';
      const id = idOf(piece) || this.#builder.idOf(place) || newCallId();
      const part = { kind: 'call', id, name, isFreeform: false, namespace: null } as const;
      events.push(...this.#signed(place, piece), ...this.sequence.open(keyOf(place), part));
      const early = call.early;
      call.early = [];
      for (const each of early) events.push(...this.#argue(place, call, each));
      return events;
    }
    return call.state === 'closed' ? events : [...events, ...this.#argue(place, call, text)];
  }

  /** The signature beside a call, which servers send with its name. */
  #signed(place: number, piece: Fields): StreamEvent[] {
    const signature = callSignature(piece, this.facts);
    if (signature === null) return [];
    const key = `signature ${place}`;
    return [...this.sequence.open(key, { kind: 'thinking' }), ...this.sequence.close(key, signature)];
  }

  /** A call ends with its arguments, so the next one need not wait. */
  #argue(place: number, call: StreamedCall, text: string): StreamEvent[] {
    if (text === '' || call.state === 'closed') return [];
    call.hasArguments = true;
    call.balance.add(text);
    const events = this.sequence.add(keyOf(place), text);
    if (!call.balance.isWhole) return events;
    call.state = 'closed';
    return [...events, ...this.sequence.close(keyOf(place))];
  }

  protected override closeAll(): StreamEvent[] {
    const events = textKinds.flatMap((kind) => this.#closeText(kind));
    for (const [place, call] of this.#calls.entries()) {
      if (call.state !== 'open') continue;
      if (!call.hasArguments) events.push(...this.sequence.add(keyOf(place), '{}'));
      events.push(...this.sequence.close(keyOf(place)));
    }
    return events;
  }
}

const textKinds = ['thinking', 'text', 'refusal'] as const;

function keyOf(place: number): string {
  return `call ${place}`;
}

/** Follows a JSON text in pieces, to find the end of its object or array. */
class JsonBalance {
  #depth = 0;
  #inText = false;
  #isEscaped = false;
  #isBegun = false;

  add(piece: string): void {
    for (let at = 0; at < piece.length; at += 1) {
      const char = piece[at];
      if (this.#inText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (char === '\\') this.#isEscaped = true;
        else if (char === '"') this.#inText = false;
      } else if (char === '"') this.#inText = true;
      else if (char === '{' || char === '[') {
        this.#depth += 1;
        this.#isBegun = true;
      } else if (char === '}' || char === ']') this.#depth -= 1;
    }
  }

  get isWhole(): boolean {
    return this.#isBegun && this.#depth <= 0 && !this.#inText;
  }
}
