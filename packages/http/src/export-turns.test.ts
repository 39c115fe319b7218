import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { ExportTurns } from './export-turns.ts';

afterEach(() => void jest.useRealTimers());

const reply = (): ServerResponse => new EventEmitter() as unknown as ServerResponse;

/** Exports that end when the test ends them. */
class Exports {
  readonly begun: string[] = [];
  readonly #ends = new Map<string, () => void>();
  readonly #turns = new ExportTurns(2);

  ask(name: string, tenantId = name, response = reply()): Promise<void> {
    return this.#turns.run(tenantId, response, () => {
      this.begun.push(name);
      return new Promise((resolve) => this.#ends.set(name, resolve));
    });
  }

  end(name: string): void {
    this.#ends.get(name)?.();
  }
}

describe('exports', () => {
  it('run one at a time for a tenant, and as many as there are slots for all', async () => {
    const exports = new Exports();
    const a1 = exports.ask('a1', 'a');
    const a2 = exports.ask('a2', 'a');
    const b = exports.ask('b');
    const c = exports.ask('c');
    expect(exports.begun).toEqual(['a1', 'b']);
    exports.end('a1');
    await a1;
    // The tenant that has used the slots for the shortest time comes first.
    expect(exports.begun).toEqual(['a1', 'b', 'c']);
    for (const name of ['b', 'c', 'a2']) {
      exports.end(name);
      await { a2, b, c }[name];
    }
    expect(exports.begun).toEqual(['a1', 'b', 'c', 'a2']);
  });

  it('are refused beyond four of a tenant that wait, and after 7 s', async () => {
    jest.useFakeTimers();
    const exports = new Exports();
    const first = exports.ask('0', 'a');
    const waiting = [1, 2, 3, 4].map((place) => exports.ask(String(place), 'a'));
    await expect(exports.ask('5', 'a')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    const refused = Promise.allSettled(waiting);
    jest.advanceTimersByTime(7_000);
    for (const each of await refused)
      expect(each).toMatchObject({
        reason: { code: 'service_unavailable', headers: { 'retry-after': '5' } },
      });
    exports.end('0');
    await first;
  });

  it('leave the queue when their client leaves', async () => {
    const exports = new Exports();
    const first = exports.ask('a');
    const response = reply();
    const left = exports.ask('left', 'a', response);
    response.emit('close');
    await expect(left).rejects.toMatchObject({ code: 'client_closed_request' });
    exports.end('a');
    await first;
    expect(exports.begun).toEqual(['a']);
  });
});
