import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, it, jest } from '@jest/globals';
import { ChangeWatch } from '@gatehouse/kit/change-watch';
import { newKeyText } from '@gatehouse/identity/key-text';
import { requestContext } from '@gatehouse/http/request-context';
import { Authenticator, type Checked, type KeyRequest, type KeySource } from './authenticator.ts';

interface Check {
  known: boolean;
  answer: (checked: Checked) => void;
}

const accepted: Checked = {
  principal: {
    keyId: 'key',
    tenantId: 'tenant',
    tenantSlug: 'tenant',
    role: 'user',
    scopes: [],
    boundUser: null,
    userId: null,
  },
  tenantStatus: 'active',
  expiresAtMs: Infinity,
  subjects: ['key', 'tenant'],
};

/** An authenticator, and the checks that its source has to answer. */
function setUp() {
  const checks: Check[] = [];
  const check = (known: boolean): Promise<Checked> => new Promise((answer) => checks.push({ known, answer }));
  const source: KeySource = {
    reachable: true,
    checkKey: (_, known) => check(known),
    checkSession: (_, known) => check(known),
    isOutage: () => false,
  };
  const changes = new ChangeWatch({ list: () => Promise.reject(new Error('away')) });
  const networkOf = ({ headers }: IncomingMessage): string => String(headers['x-network']);
  const authenticator = new Authenticator({ source, networkOf, changes });
  let keyRequest: KeyRequest | undefined;
  const authenticate = (text: string, network: string): unknown => {
    const request = { headers: { 'x-network': network }, socket: {} as Socket } as unknown as IncomingMessage;
    keyRequest = { ...requestContext(request), key: null };
    return authenticator.authenticate(`Bearer ${text}`, request, keyRequest);
  };
  const send = async (text: string, network: string): Promise<unknown> => {
    try {
      return await authenticate(text, network);
    } catch (error) {
      return error;
    }
  };
  /** Answers what is asked now and later. */
  const reject = (from = 0): void => {
    for (let index = from; index < checks.length; index += 1) checks[index]?.answer(null);
  };
  return { checks, authenticate, send, reject, changes, keyOfLast: () => keyRequest?.key };
}

it('a key in the cache costs no promise', async () => {
  const { checks, authenticate, send } = setUp();
  const { text } = newKeyText();
  const first = send(text, 'a');
  await settled();
  checks[0]?.answer(accepted);
  await first;
  expect(authenticate(text, 'a')).toBe(accepted.principal);
});

it('a refused key is named where its secret was right, and an unknown one is not', async () => {
  const { checks, send, keyOfLast } = setUp();
  const key = { keyId: 'key', tenantId: 'tenant' };
  const answers: [Checked, unknown, string][] = [
    [null, null, 'invalid_api_key'],
    [{ rejected: key }, key, 'invalid_api_key'],
    [{ ...accepted, expiresAtMs: 0 }, accepted.principal, 'invalid_api_key'],
    [{ ...accepted, tenantStatus: 'suspended' }, accepted.principal, 'tenant_suspended'],
  ];
  for (const [checked, named, code] of answers) {
    const { text } = newKeyText();
    const first = send(text, 'a');
    await settled();
    checks.at(-1)?.answer(checked);
    expect(await first).toMatchObject({ code });
    expect(keyOfLast()).toEqual(named);
    // The same from the cache.
    expect(await send(text, 'a')).toMatchObject({ code });
    expect(keyOfLast()).toEqual(named);
  }
  expect(checks).toHaveLength(answers.length);
});

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const many = (count: number, send: (text: string) => Promise<unknown>): Promise<unknown>[] =>
  Array.from({ length: count }, () => send(newKeyText().text));

describe('look-ups of keys that are not known', () => {
  it('are few at a time for one network, while another network has its own', async () => {
    const { checks, send } = setUp();
    const flood = many(600, (text) => send(text, 'loud'));
    await settled();
    expect(checks).toHaveLength(32);
    const other = send(newKeyText().text, 'quiet');
    await settled();
    expect(checks).toHaveLength(33);
    checks.at(-1)?.answer(accepted);
    expect(await other).toMatchObject({ tenantId: 'tenant' });
    let answered = 0;
    while (answered < checks.length) {
      checks[answered]?.answer(null);
      answered += 1;
      await settled();
    }
    expect(await Promise.all(flood)).toEqual(
      Array.from({ length: 600 }, () => expect.objectContaining({ code: 'invalid_api_key' })),
    );
  });

  it('hold up no key that was accepted before, even in their network', async () => {
    const { checks, send, reject } = setUp();
    const { text } = newKeyText();
    const first = send(text, 'loud');
    await settled();
    checks[0]?.answer(accepted);
    await first;
    const flood = many(600, (bad) => send(bad, 'loud'));
    await settled();
    const before = checks.length;
    const now = performance.now.bind(performance);
    performance.now = () => now() + 3_001;
    try {
      const again = send(text, 'loud');
      await settled();
      expect(checks.at(-1)?.known).toBe(true);
      checks.at(-1)?.answer(accepted);
      expect(await again).toMatchObject({ tenantId: 'tenant' });
    } finally {
      performance.now = now;
    }
    expect(checks).toHaveLength(before + 1);
    for (let from = 0; from < checks.length; from += 1) {
      reject(from);
      await settled();
    }
    await Promise.all(flood);
  });

  it('have a place for a network of few when four networks have taken all', async () => {
    const { checks, send, reject } = setUp();
    const flood = ['a', 'b', 'c', 'd'].flatMap((network) => many(600, (text) => send(text, network)));
    await settled();
    const key = send(newKeyText().text, 'new');
    await settled();
    // Slots become free one after the other, and the network that has used none is next.
    checks[0]?.answer(null);
    await settled();
    checks.at(-1)?.answer(accepted);
    expect(await key).toMatchObject({ tenantId: 'tenant' });
    for (let from = 0; from < checks.length; from += 1) {
      reject(from);
      await settled();
    }
    await Promise.all(flood);
  });

  it('are refused with 503 when too many wait', async () => {
    const { checks, send, reject } = setUp();
    const flood = many(1_200, (text) => send(text, 'loud'));
    const ends: unknown[] = [];
    for (const each of flood) void each.then((end) => ends.push(end));
    await settled();
    // At once: 32 are under way, and a thousand of the network wait.
    expect(ends).toEqual(
      Array.from({ length: 168 }, () => expect.objectContaining({ code: 'service_unavailable' })),
    );
    for (let from = 0; from < checks.length; from += 1) {
      reject(from);
      await settled();
    }
    await Promise.all(flood);
  });
});

it('asks again for a key only once it has changed, while changes are heard', async () => {
  const { checks, send, changes } = setUp();
  const state = jest.spyOn(changes, 'stateOf').mockReturnValue('current');
  const { text } = newKeyText();
  const first = send(text, 'one');
  await settled();
  checks[0]?.answer(accepted);
  await first;
  const now = performance.now.bind(performance);
  const later = jest.spyOn(performance, 'now').mockImplementation(() => now() + 60_000);
  expect(await send(text, 'one')).toMatchObject({ tenantId: 'tenant' });
  expect(checks).toHaveLength(1);
  expect(state).toHaveBeenLastCalledWith(['key', 'tenant'], expect.any(Number));
  state.mockReturnValue('changed');
  const again = send(text, 'one');
  await settled();
  checks[1]?.answer(null);
  expect(await again).toMatchObject({ code: 'invalid_api_key' });
  later.mockRestore();
});
