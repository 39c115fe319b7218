import type { Fields } from '@gatehouse/kit/fields';
import { sumReports } from './usage/reported-usage.ts';
import { writeJson, type JsonSource } from './wire/json-text.ts';
import type { AssistantMessage, ToolAnswers } from './dialect.ts';

/** The whole answers of a turn, in any dialect: the client gets the last, with the usage of all. */
export abstract class JoinedAnswers implements ToolAnswers {
  /** The member of an answer with its usage. */
  protected readonly usageName: string = 'usage';
  /** Whether a name belongs to a tool of the gateway. */
  protected readonly isOwn: (name: string) => boolean;
  #answers = 0;
  #last: Fields = {};
  #usage: unknown;

  constructor(isOwn: (name: string) => boolean) {
    this.isOwn = isOwn;
  }

  add(parsed: Fields, source?: JsonSource): AssistantMessage | null {
    const answer = source === undefined ? parsed : this.exact(parsed, source);
    const usage = answer[this.usageName];
    this.#usage = this.#answers === 0 ? usage : sumReports(this.#usage, usage);
    this.#answers += 1;
    this.#last = answer;
    return this.read(answer);
  }

  get shown(): Buffer | null {
    const { answer, isSame } = this.withoutOwn(this.#last);
    if (this.#answers === 1 && isSame) return null;
    const usage = this.#usage !== undefined && { [this.usageName]: this.#usage };
    return Buffer.from(writeJson({ ...answer, ...usage }));
  }

  /** The answer with the inputs of its calls as they are written. */
  protected exact(answer: Fields, _source: JsonSource): Fields {
    return answer;
  }

  protected abstract read(answer: Fields): AssistantMessage | null;

  /** An answer without calls of the gateway, and whether it is the same as before. */
  protected abstract withoutOwn(answer: Fields): { answer: Fields; isSame: boolean };
}
