import { Client, type QueryConfig, type QueryResult } from 'pg';

/** The server's own time-out comes first (`pool.ts`); this one covers a server that answers nothing at all. */
const longestAnswerMs = 6_000;

/** A statement whose answer is awaited for a time of its own. */
export interface TimedQuery extends QueryConfig {
  giveUpAfterMs?: number;
}

type Callback = (error: Error | null | undefined, result?: QueryResult) => void;

/**
 * pg's client, whose promises and time-outs are our own: pg's put functions into a property of each query, for which V8
 * takes the old generation, and there they kept every query with its values and rows until the whole heap was
 * collected (ADR 21).
 */
export class PatientClient extends Client {
  // Nothing, a promise or a submittable: no other return type is assignable to each of pg's overloads.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
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
