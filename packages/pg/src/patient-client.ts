import { Client, type QueryConfig, type QueryResult } from 'pg';
import { verbsOf, type Verbs } from './rows.ts';

/** Longer than the `statement_timeout` in `pool.ts`: this one covers a server without any answer. */
const longestAnswerMs = 6_000;

/** A statement with its own client-side timeout. */
export interface TimedQuery extends QueryConfig {
  giveUpAfterMs?: number;
}

type Callback = (error: Error | null | undefined, result?: QueryResult) => void;

/**
 * A pg client with its own promises and timeouts. pg stores functions in a property of each query, which V8 moves to
 * the old generation; every query was kept there, with its values and rows, until a full garbage collection (ADR 21).
 */
export class PatientClient extends Client implements Verbs {
  readonly #verbs = verbsOf((...input) => this.query(...input) as Promise<QueryResult>);
  readonly all = this.#verbs.all;
  readonly first = this.#verbs.first;
  readonly one = this.#verbs.one;
  readonly count = this.#verbs.count;
  readonly exists = this.#verbs.exists;

  // Returns nothing, a promise or a submittable: only `any` is assignable to each of pg's overloads.
  // oxlint-disable-next-line typescript/no-explicit-any
  override query(...input: unknown[]): any {
    const callback: unknown = input.at(-1);
    if (typeof callback === 'function') {
      this.#send(input.slice(0, -1), callback as Callback);
      return undefined;
    }
    return new Promise((resolve, reject) => {
      this.#send(input, (error, result) => {
        if (error === null || error === undefined) resolve(result);
        else reject(error);
      });
    });
  }

  #send([statement, values]: readonly unknown[], done: Callback): void {
    const { giveUpAfterMs = longestAnswerMs } = Object(statement) as TimedQuery;
    const timer = setTimeout(() => done(new Error('Query read timeout')), giveUpAfterMs);
    super.query(statement as string, values as unknown[], (error: Error | undefined, result: QueryResult) => {
      clearTimeout(timer);
      done(error, result);
    });
  }
}
