import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { addedUsage } from '../../usage/added-usage.ts';
import type { ToolAnswers } from '../dialect.ts';
import { callsIn, nameOf, plainCall, readMessage, type SaidMessage } from './tool-calls.ts';

/** The whole answers of a turn: the client gets the last, with the usage of all. */
export class WholeToolAnswers implements ToolAnswers {
  readonly #isOwn: (name: string) => boolean;
  #answers = 0;
  #last: Fields = {};
  #usage: unknown;

  constructor(isOwn: (name: string) => boolean) {
    this.#isOwn = isOwn;
  }

  add(answer: Fields): SaidMessage | null {
    this.#usage = this.#answers === 0 ? answer['usage'] : addedUsage(this.#usage, answer['usage']);
    this.#answers += 1;
    this.#last = answer;
    return readMessage(answer);
  }

  get shown(): Buffer | null {
    const choices = listOf(this.#last['choices']);
    const shown = choices.map((choice) => (isFields(choice) ? this.#withoutOwn(choice) : choice));
    if (this.#answers === 1 && shown.every((choice, index) => choice === choices[index])) return null;
    const usage = this.#usage !== undefined && { usage: this.#usage };
    return Buffer.from(JSON.stringify({ ...this.#last, choices: shown, ...usage }));
  }

  #withoutOwn(choice: Fields): Fields {
    const { message } = choice;
    if (!isFields(message)) return choice;
    const calls = callsIn(message);
    const kept = calls.filter((call) => !this.#isOwn(nameOf(plainCall(call))));
    if (kept.length === calls.length) return choice;
    const { tool_calls: _calls, function_call: _old, ...others } = message;
    if (kept.length > 0) return { ...choice, message: { ...others, tool_calls: kept } };
    return { ...choice, message: others, finish_reason: 'stop' };
  }
}
