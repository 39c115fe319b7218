import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { sleep } from '@gatehouse/kit/clock';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { AddressList } from './address-list.ts';

const everyMs = 20;

/** The answer for the name now: addresses, or an error of the name server. */
let named: string[] | Error;
let hanging: Promise<void>;
let asked: string[];
let underWay: number;
let most: number;
let list: AddressList;

beforeEach(() => {
  named = ['10.0.0.1', '10.0.0.2'];
  hanging = Promise.resolve();
  asked = [];
  underWay = most = 0;
  list = listOf('dns:///chat.test:8080');
});
afterEach(() => list.stop());

async function lookup(name: string): Promise<{ address: string; family: number }[]> {
  asked.push(name);
  most = Math.max(most, (underWay += 1));
  await hanging;
  underWay -= 1;
  if (named instanceof Error) throw named;
  return named.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
}

function listOf(...configured: string[]): AddressList {
  return new AddressList(configured, createLogger('edge', 'silent'), { lookup, everyMs });
}

function inTurn(): string[] {
  return [...new Set([1, 2, 3, 4, 5, 6].map(() => list.next() ?? 'none'))].sort();
}

describe('the addresses behind a name', () => {
  it('are there as soon as it has started, and follow the name', async () => {
    await list.start();
    expect(inTurn()).toEqual(['10.0.0.1:8080', '10.0.0.2:8080']);
    named = ['10.0.0.2', 'fd00::3'];
    await eventually(() => expect(inTurn()).toEqual(['10.0.0.2:8080', '[fd00::3]:8080']));
    expect(new Set(asked)).toEqual(new Set(['chat.test']));
  });

  it('stay the same while the name cannot be resolved', async () => {
    await list.start();
    named = new Error('no name server');
    const before = asked.length;
    await eventually(() => expect(asked.length).toBeGreaterThan(before + 3));
    expect(inTurn()).toEqual(['10.0.0.1:8080', '10.0.0.2:8080']);
    named = ['10.0.0.9'];
    await eventually(() => expect(inTurn()).toEqual(['10.0.0.9:8080']));
  });

  it('are asked for once at a time, however long it takes, and no longer once it has stopped', async () => {
    await list.start();
    const answer = Promise.withResolvers<undefined>();
    hanging = answer.promise;
    await eventually(() => expect(underWay).toBe(1));
    await sleep(10 * everyMs);
    expect(most).toBe(1);
    list.stop();
    answer.resolve(undefined);
    const before = asked.length;
    await sleep(10 * everyMs);
    expect(asked.length).toBe(before);
  });

  it('that come back start anew: what was held against one ended when it vanished', async () => {
    await list.start();
    list.noteSilent('10.0.0.1:8080', true);
    list.refused('10.0.0.2:8080');
    named = [];
    await eventually(() => expect(list.next()).toBeNull());
    list.noteSilent('10.0.0.1:8080', true);
    named = ['10.0.0.1', '10.0.0.2'];
    await eventually(() => expect(inTurn()).toEqual(['10.0.0.1:8080', '10.0.0.2:8080']));
  });

  it('may stand beside others', async () => {
    list = listOf('10.1.1.1:9000', 'dns:///chat.test:8080');
    expect(inTurn()).toEqual(['10.1.1.1:9000']);
    await list.start();
    expect(inTurn()).toEqual(['10.0.0.1:8080', '10.0.0.2:8080', '10.1.1.1:9000']);
  });
});
