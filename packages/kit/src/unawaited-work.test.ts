import { expect, it } from '@jest/globals';
import { callerSignal, forCaller } from './caller-signal.ts';
import { UnawaitedWork } from './unawaited-work.ts';

it('goes on when its caller has left, and is over before the service has stopped', async () => {
  const failures: unknown[] = [];
  const note = (error: unknown): void => void failures.push(error);
  const work = new UnawaitedWork();
  const gate = Promise.withResolvers<undefined>();
  const done: string[] = [];
  const leave = new AbortController();
  await forCaller(leave.signal, () => {
    work.begin(async () => {
      await gate.promise;
      callerSignal()?.throwIfAborted();
      done.push('first');
    }, note);
    return Promise.resolve();
  });
  leave.abort();
  const problem = new Error('no answer');
  work.begin(() => Promise.reject(problem), note);
  expect(done).toEqual([]);
  const stopped = work.stop().then(() => done.push('stopped'));
  gate.resolve(undefined);
  await stopped;
  expect(done).toEqual(['first', 'stopped']);
  expect(failures).toEqual([problem]);
});

it('keeps no service from stopping without any', async () => {
  await new UnawaitedWork().stop();
});
