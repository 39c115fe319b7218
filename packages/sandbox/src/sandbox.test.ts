import { existsSync } from 'node:fs';
import path from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { Task } from '../test/tasks.ts';
import { MemoryShare, type MemoryHolder } from './memory-share.ts';
import { Sandbox, type SandboxOptions } from './sandbox.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;
const file = path.join(import.meta.dirname, '../test/tasks.ts');
const opened: TestSandbox[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((sandbox) => sandbox.stop()));
});

type TestSandbox = Sandbox<Task, unknown>;

function open(options: Partial<SandboxOptions> = {}): TestSandbox {
  const bounds = { processes: 2, maxWaiting: 10, maxHeapMiB: 32, deadlineMs: 20_000 };
  const sandbox = new Sandbox<Task, unknown>({ file, task: 'perform', ...bounds, ...options });
  opened.push(sandbox);
  return sandbox;
}

const isRunning = (pid: number): boolean => existsSync(`/proc/${pid}`);

describe('a sandbox', () => {
  it('passes texts as they are, and uses a process again', async () => {
    const sandbox = open();
    const text = 'a\0é😀\ud800 ';
    expect(await sandbox.run('t', { does: 'echo', with: text })).toBe(text);
    const pid = await sandbox.run('t', { does: 'pid' });
    await expect(sandbox.run('t', { does: 'fail', with: 'no' })).rejects.toThrow('Error: no');
    expect(await sandbox.run('t', { does: 'pid' })).toBe(pid);
  });

  it.each<[string, Task]>([
    ['files', { does: 'readFile', with: '/etc/passwd' }],
    ['the settings of the repository', { does: 'readFile', with: path.join(file, '../../../../Makefile') }],
    ['new files', { does: 'writeFile', with: path.join(file, '../new') }],
    ['programs', { does: 'runProgram' }],
    ['threads', { does: 'startThread' }],
  ])('has no access to %s', async (_what, task) => {
    await expect(open().run('t', task)).rejects.toThrow('restricted');
  });

  it('sees no environment, and makes no code of texts', async () => {
    const sandbox = open();
    const names = (await sandbox.run('t', { does: 'env' })) as string[];
    expect(names.filter((name) => !name.startsWith('NODE_CHANNEL'))).toEqual([]);
    await expect(sandbox.run('t', { does: 'makeCode' })).rejects.toThrow('Code generation');
  });

  it.each<[string, Task]>([
    ['loops', { does: 'loop' }],
    ['is in a native function', { does: 'searchLong' }],
  ])('kills a process that %s at the deadline, and answers when it has ended', async (_what, task) => {
    const sandbox = open({ processes: 1 });
    const pid = (await sandbox.run('t', { does: 'pid' })) as number;
    await expect(sandbox.run('t', task, { deadlineMs: 100 })).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(isRunning(pid)).toBe(false);
    expect(await sandbox.run('t', { does: 'echo', with: 'on' })).toBe('on');
  });

  it('counts the processor time of a process, and ten times as much of the clock', async () => {
    const sandbox = open({ processes: 1, deadlineMs: 200 });
    expect(await sandbox.run('t', { does: 'wait', with: '600' })).toBe('waited');
    await expect(sandbox.run('t', { does: 'wait', with: '20000' })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it.each<[string, Task, string]>([
    ['needs too much memory', { does: 'fillMemory' }, 'ended with SIGABRT'],
    ['exits', { does: 'exit' }, 'ended with 3'],
  ])('replaces a process that %s', async (_what, task, message) => {
    const sandbox = open({ processes: 1 });
    await expect(sandbox.run('t', task)).rejects.toThrow(message);
    expect(await sandbox.run('t', { does: 'echo', with: 'on' })).toBe('on');
  });

  it('bounds what processes of several sandboxes hold together: one without work ends first, then the largest', async () => {
    const memory = new MemoryShare(160 * 2 ** 20);
    const [first, second] = [0, 1].map(() => open({ memory, maxHeapMiB: 256 })) as [TestSandbox, TestSandbox];
    const free = (await first.run('t', { does: 'pid' })) as number;
    const small = second.run('u', { does: 'wait', with: '1500' });
    const large = second.run('v', { does: 'holdMemory', with: String(130 * 2 ** 20) });
    void Promise.allSettled([small, large]);
    await expect(large).rejects.toThrow('ended with SIGKILL');
    // Killed before it, but the system may report its end later.
    await eventually(() => expect(isRunning(free)).toBe(false));
    expect(await small).toBe('waited');
    expect(await first.run('t', { does: 'echo', with: 'on' })).toBe('on');
  });

  it('counts for the tenant that it works for', async () => {
    const joined: MemoryHolder[] = [];
    class Watched extends MemoryShare {
      override join(holder: MemoryHolder): void {
        joined.push(holder);
        super.join(holder);
      }
    }
    const sandbox = open({ memory: new Watched(2 ** 30), processes: 1 });
    for (const tenant of ['t', 'u']) {
      await sandbox.run(tenant, { does: 'echo' });
      expect(joined.map(({ tenantId }) => tenantId)).toEqual([tenant]);
    }
  });

  it('stops the work of a caller that has left', async () => {
    const sandbox = open({ processes: 1 });
    const leave = new AbortController();
    const left = sandbox.run('t', { does: 'loop' }, { signal: leave.signal });
    const waiting = sandbox.run('u', { does: 'loop' }, { signal: leave.signal });
    leave.abort(new Error('left'));
    await expect(left).rejects.toThrow('left');
    await expect(waiting).rejects.toThrow('left');
    expect(await sandbox.run('t', { does: 'echo', with: 'on' })).toBe('on');
  });

  it('serves other tenants while work of one takes all its time', async () => {
    const sandbox = open({ deadlineMs: 300 });
    const hostile = Array.from({ length: 5 }, () => sandbox.run('t', { does: 'loop' }));
    void Promise.allSettled(hostile);
    expect(await sandbox.run('u', { does: 'echo', with: 'on' })).toBe('on');
    const settled = await Promise.allSettled(hostile);
    expect(settled.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
  });

  it('refuses work when enough of a tenant waits, and of that tenant alone', async () => {
    const sandbox = open({ processes: 1, maxWaitingPerTenant: 1, deadlineMs: 300 });
    const first = [1, 2].map(() => sandbox.run('t', { does: 'loop' }));
    void Promise.allSettled(first);
    await expect(sandbox.run('t', { does: 'echo' })).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await sandbox.run('u', { does: 'echo', with: 'on' })).toBe('on');
    await Promise.allSettled(first);
  });

  it('gives each caller its own answer when a process is late to start', async () => {
    const sandbox = open({ processes: 1, startMs: 1 });
    const seen = await Promise.allSettled(
      ['a', 'b', 'c'].map((tenant) => sandbox.run(tenant, { does: 'echo', with: tenant })),
    );
    expect(seen.map(({ status }) => status)).toEqual(Array(3).fill('rejected'));
    const patient = open({ processes: 1 });
    const answers = ['a', 'b', 'c'].map((tenant) => patient.run(tenant, { does: 'echo', with: tenant }));
    // The loop stands still while the process starts.
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500));
    expect(await Promise.all(answers)).toEqual(['a', 'b', 'c']);
  });

  it('keeps no answers', async () => {
    const sandbox = open();
    const answered: WeakRef<object>[] = [];
    for (let n = 0; n < 20; n += 1)
      answered.push(new WeakRef((await sandbox.run('t', { does: 'list' })) as object));
    await eventually(() => {
      gc();
      expect(answered.filter((answer) => answer.deref() !== undefined).length).toBeLessThan(3);
    });
  });

  it('says why a process can’t start', async () => {
    const sandbox = open({ task: 'missing' });
    await expect(sandbox.run('t', { does: 'echo' })).rejects.toThrow('exports no missing');
  });

  it('ends a process that has been idle for long enough', async () => {
    const sandbox = open({ idleMs: 100 });
    const pid = (await sandbox.run('t', { does: 'pid' })) as number;
    await eventually(() => expect(isRunning(pid)).toBe(false));
    expect(await sandbox.run('t', { does: 'pid' })).not.toBe(pid);
  });

  it('ends its processes when it is stopped', async () => {
    const sandbox = open();
    const pid = (await sandbox.run('t', { does: 'pid' })) as number;
    const work = ['u', 'v', 'w', 'w'].map((tenant) => sandbox.run(tenant, { does: 'loop' }));
    void Promise.allSettled(work);
    await sandbox.stop();
    for (const each of work) await expect(each).rejects.toThrow('sandbox');
    await eventually(() => expect(isRunning(pid)).toBe(false));
  });
});

it('ends work of the tenant that holds the most in all, not the largest of another one', async () => {
  const memory = new MemoryShare(200);
  const killed: string[] = [];
  const hold = (name: string, tenantId: string, heldBytes: number): void => {
    const kill = (): void => {
      killed.push(name);
      memory.leave(holder);
    };
    const holder = { tenantId, heldBytes, free: false, kill };
    memory.join(holder);
  };
  hold('small', 't', 70);
  hold('large', 't', 80);
  hold('largest', 'u', 110);
  await eventually(() => expect(killed).not.toEqual([]));
  expect(killed).toEqual(['large']);
});
