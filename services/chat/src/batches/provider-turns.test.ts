import { expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { createLogger } from '@gatehouse/kit/log';
import { ProviderTurns, type WaitingRequest } from './provider-turns.ts';

/** Work that waits, by provider and tenant, in place of a table. */
class Works {
  readonly waiting = new Map<string, Map<string, number>>();
  /** Each as provider and tenant. */
  readonly begun: string[] = [];
  /** Work at these is never over until it is released. */
  readonly hanging = new Map<string, PromiseWithResolvers<undefined>>();
  readonly turns: ProviderTurns;

  constructor(slots: number) {
    this.turns = new ProviderTurns({
      ...{ slots, log: createLogger('chat', 'silent'), task: 'look for work', everyMs: 1_000 },
      providers: () => Promise.resolve([...this.waiting.keys()]),
      waiting: (provider, { after, busy }) => Promise.resolve(this.#waitingAt(provider, after, busy)),
      take: ({ provider, tenantId }) => Promise.resolve(this.#take(provider, tenantId)),
    });
  }

  add(provider: string, tenantId: string, count: number): void {
    const tenants = this.waiting.get(provider) ?? new Map<string, number>();
    this.waiting.set(provider, tenants.set(tenantId, count));
  }

  async rounds(count: number): Promise<void> {
    for (let n = 0; n < count; n += 1) {
      await this.turns.begin();
      // Work that hangs nowhere is over.
      await new Promise(setImmediate);
    }
  }

  #waitingAt(provider: string, after: string, busy: readonly string[]): WaitingRequest[] {
    const tenants = [...(this.waiting.get(provider) ?? [])].filter(([tenantId]) => tenantId > after).sort();
    // Two at a time, as a page.
    return tenants.slice(0, 2).map(([tenantId, count]) => ({
      tenantId,
      id: count > 0 && !busy.includes(tenantId) ? newId() : null,
    }));
  }

  #take(provider: string, tenantId: string): () => Promise<void> {
    this.begun.push(`${provider} ${tenantId}`);
    const tenants = this.waiting.get(provider);
    tenants?.set(tenantId, (tenants.get(tenantId) ?? 0) - 1);
    return async () => {
      await this.hanging.get(provider)?.promise;
    };
  }
}

const countOf = (begun: readonly string[], name: string): number =>
  begun.filter((each) => each === name).length;

it('a provider that hangs holds up no other', async () => {
  const works = new Works(2);
  const hanging = Promise.withResolvers<undefined>();
  works.hanging.set('a-hangs', hanging);
  for (const tenant of ['1', '2', '3', '4', '5']) works.add('a-hangs', `t${tenant}`, 100);
  works.add('b', 't1', 10);
  await works.rounds(10);
  expect(countOf(works.begun, 'b t1')).toBe(10);
  expect(works.begun.filter((each) => each.startsWith('a-hangs'))).toHaveLength(2);
  hanging.resolve(undefined);
  await works.turns.stop();
});

it('tenants take turns, however much one of them has, and whichever comes first', async () => {
  const works = new Works(1);
  works.add('p', 't1', 1_000);
  for (const tenant of ['t2', 't3', 't4', 't5']) works.add('p', tenant, 3);
  await works.rounds(15);
  for (const tenant of ['t2', 't3', 't4', 't5']) expect(countOf(works.begun, `p ${tenant}`)).toBe(3);
  expect(countOf(works.begun, 'p t1')).toBe(3);
});
