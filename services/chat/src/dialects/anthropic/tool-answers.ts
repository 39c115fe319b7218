import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { addedUsage } from '../../usage/added-usage.ts';
import type { ToolAnswers } from '../dialect.ts';
import { callsTools } from './event-reader.ts';
import { isCall, nameOf, SaidContent } from './said-content.ts';

/** The whole answers of a turn: the client gets the last, with the usage of all. */
export class MessageToolAnswers implements ToolAnswers {
  readonly #isOwn: (name: string) => boolean;
  #answers = 0;
  #last: Fields = {};
  #usage: unknown;

  constructor(isOwn: (name: string) => boolean) {
    this.#isOwn = isOwn;
  }

  add(answer: Fields): SaidContent | null {
    this.#usage = this.#answers === 0 ? answer['usage'] : addedUsage(this.#usage, answer['usage']);
    this.#answers += 1;
    this.#last = answer;
    if (!Array.isArray(answer['content'])) return null;
    const blocks = listOf(answer['content']).filter(isFields);
    return SaidContent.of(blocks.map((fields) => ({ fields, json: '' }))).stopped(answer['stop_reason']);
  }

  get shown(): Buffer | null {
    const content = listOf(this.#last['content']);
    const kept = content.filter((block) => !isCall(block) || !this.#isOwn(nameOf(block)));
    const isSame = kept.length === content.length;
    if (this.#answers === 1 && isSame) return null;
    const answer = {
      ...this.#last,
      content: kept,
      ...(callsTools(this.#last) && !kept.some(isCall) && { stop_reason: 'end_turn' }),
      ...(this.#usage !== undefined && { usage: this.#usage }),
    };
    return Buffer.from(JSON.stringify(answer));
  }
}
