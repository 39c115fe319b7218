import type { Fields } from '@gatehouse/kit/fields';
import { addedUsage } from '../usage/added-usage.ts';
import type { Said, ToolAnswers } from './dialect.ts';

/** The whole answers of a turn, in any dialect: the client gets the last, with the usage of all. */
export abstract class JoinedAnswers implements ToolAnswers {
  /** The member of an answer that has its usage. */
  protected readonly usageName: string = 'usage';
  /** Whether a name is that of a tool of the gateway. */
  protected readonly isOwn: (name: string) => boolean;
  #answers = 0;
  #last: Fields = {};
  #usage: unknown;

  constructor(isOwn: (name: string) => boolean) {
    this.isOwn = isOwn;
  }

  add(answer: Fields): Said | null {
    const usage = answer[this.usageName];
    this.#usage = this.#answers === 0 ? usage : this.added(this.#usage, usage);
    this.#answers += 1;
    this.#last = answer;
    return this.read(answer);
  }

  get shown(): Buffer | null {
    const { answer, isSame } = this.withoutOwn(this.#last);
    if (this.#answers === 1 && isSame) return null;
    const usage = this.#usage !== undefined && { [this.usageName]: this.#usage };
    return Buffer.from(JSON.stringify({ ...answer, ...usage }));
  }

  protected added(one: unknown, other: unknown): unknown {
    return addedUsage(one, other);
  }

  protected abstract read(answer: Fields): Said | null;

  /** An answer without calls of the gateway, and whether it had none. */
  protected abstract withoutOwn(answer: Fields): { answer: Fields; isSame: boolean };
}
