import { isFields, type Fields, listOf } from '@gatehouse/kit/fields';
import { MessageBuilder } from './message-builder.ts';
import type { ToolStream } from '../dialect.ts';
import { JoinedStream } from '../joined-stream.ts';
import { ChunkHead, endFrames, frameOf, parseFrame, hasFinished } from './chunks.ts';
import {
  type ChatAssistantMessage,
  callsIn,
  nameOf,
  plainCall,
  readMessage,
  reasonWithoutOwn,
} from './tool-calls.ts';
import type { Usage } from '../usage/usage.ts';
import { JoinedAnswers } from '../joined-answers.ts';

/** Pieces of a call before its name. */
const maxUnnamed = 100;

/**
 * Passes the frames of several calls of a model on as one stream: the client sees one id, one role and one end, and no
 * call of the gateway's own tools. Frames without a change stay as they are.
 */
export class ChunkToolStream extends JoinedStream implements ToolStream {
  /** The head of the first call: the same in all chunks. */
  readonly #head = new ChunkHead();
  #isFirst = true;
  #message = new MessageBuilder();
  /** The client's index for each call of its own. */
  #indexes = new Map<number, number>();
  /** Pieces of calls still without a name: they may be calls of the gateway. */
  #unnamed = new Map<number, Fields[]>();
  #hasOwn = false;
  /** Why the answer under way ended. */
  #reason: unknown;
  /** A frame with a finish reason, which is passed on only if no call of the gateway follows. */
  #held: Buffer[] = [];
  #mayCall = true;

  next({ mayCall }: { mayCall: boolean }): void {
    this.#isFirst = false;
    this.#message = new MessageBuilder();
    this.#indexes = new Map();
    this.#unnamed = new Map();
    this.#hasOwn = false;
    this.#reason = undefined;
    this.#held = [];
    this.#mayCall = mayCall;
  }

  get message(): ChatAssistantMessage {
    return this.#message.built.finished(this.#reason);
  }

  finish(): void {
    this.send(this.#held);
  }

  endFrames(usage: Usage | null): Buffer[] {
    return endFrames(this.#head.built, usage);
  }

  protected override passed(frame: Buffer): Buffer[] {
    const parsed = parseFrame(frame);
    if (parsed.type !== 'chunk') return [frame];
    const { chunk } = parsed;
    this.#head.add(chunk);
    const { choices } = chunk;
    if (!Array.isArray(choices)) return this.#isFirst ? [frame] : [];
    const [choice] = choices as unknown[];
    if (!isFields(choice)) return this.#isFirst ? [frame] : [];
    const delta = isFields(choice['delta']) ? choice['delta'] : {};
    const passed = this.#withoutOwn(delta, this.#message.add(delta));
    const reason = hasFinished(choice['finish_reason']) ? choice['finish_reason'] : null;
    this.#reason = reason ?? this.#reason;
    const isSame = this.#isFirst && passed === delta && !(this.#hasOwn && reason !== null);
    const isGatewayOnly = this.#hasOwn && this.#indexes.size === 0;
    const changed = {
      ...chunk,
      ...this.#head.built,
      choices: [
        {
          ...choice,
          delta: passed,
          finish_reason: isGatewayOnly && reason !== null ? reasonWithoutOwn(reason) : reason,
        },
      ],
    };
    const out = isSame ? frame : frameOf(changed);
    if (reason !== null && isGatewayOnly && this.#mayCall) {
      this.#held.push(out);
      return [];
    }
    return reason === null && !isSame && Object.keys(passed).length === 0 ? [] : [out];
  }

  /** The delta without calls of the gateway, and without the role again. */
  #withoutOwn(delta: Fields, calls: readonly { place: number; call: Fields }[]): Fields {
    const { tool_calls: _calls, function_call: _old, role, ...others } = delta;
    if (calls.length === 0 && (this.#isFirst || role === undefined)) return delta;
    const pieces = calls.flatMap(({ place, call }) => this.#visiblePieces(place, call));
    return {
      ...(this.#isFirst && role !== undefined && { role }),
      ...others,
      ...(pieces.length > 0 && { tool_calls: pieces }),
    };
  }

  /** The client's pieces of a call after a further one. */
  #visiblePieces(place: number, piece: Fields): Fields[] {
    const pieces = this.#unnamed.get(place) ?? [];
    pieces.push(piece);
    const name = this.#message.nameOf(place);
    this.#unnamed.set(place, name === '' ? pieces : []);
    if (pieces.length > maxUnnamed) throw new Error('a call of a tool has no name');
    if (name === '') return [];
    if (this.isOwn(name)) {
      this.#hasOwn = true;
      return [];
    }
    const index = this.#indexes.get(place) ?? this.#indexes.size;
    this.#indexes.set(place, index);
    return pieces.map((each) => ({ ...each, index }));
  }
}

export class WholeToolAnswers extends JoinedAnswers {
  protected override read(answer: Fields): ChatAssistantMessage | null {
    return readMessage(answer);
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const choices = listOf(answer['choices']);
    const visible = choices.map((choice) => (isFields(choice) ? this.#choiceWithoutOwn(choice) : choice));
    const isSame = visible.every((choice, index) => choice === choices[index]);
    return { answer: { ...answer, choices: visible }, isSame };
  }

  #choiceWithoutOwn(choice: Fields): Fields {
    const { message } = choice;
    if (!isFields(message)) return choice;
    const calls = callsIn(message);
    const remaining = calls.filter((call) => !this.isOwn(nameOf(plainCall(call))));
    if (remaining.length === calls.length) return choice;
    const { tool_calls: _calls, function_call: _old, ...others } = message;
    if (remaining.length > 0) return { ...choice, message: { ...others, tool_calls: remaining } };
    return { ...choice, message: others, finish_reason: reasonWithoutOwn(choice['finish_reason']) };
  }
}
