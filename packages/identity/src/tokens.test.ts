import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SignJWT, type JWTPayload } from 'jose';
import {
  generateServiceKeys,
  importPrivateKey,
  importPublicKeys,
  serviceOf,
  type ServiceKeys,
} from './keys.ts';
import type { Delegation, Principal } from './principal.ts';
import { Signer } from './signer.ts';
import { isDelegation, Verifier } from './verifier.ts';

const services = ['edge', 'chat', 'agent', 'tenant', 'analytics', 'memory', 'webhook'];

let keys: ServiceKeys;
let verifier: Verifier;
let edge: Signer;
let chat: Signer;

beforeAll(async () => {
  keys = await generateServiceKeys(services);
  verifier = await Verifier.create(keys.publicKeys);
  edge = await Signer.create(privateKey('edge'));
  chat = await Signer.create(privateKey('chat'));
});

afterEach(() => {
  jest.useRealTimers();
});

const privateKey = (service: string): string => keys.privateKeys[service] ?? '';

const now = (): number => Math.floor(Date.now() / 1_000);

const principal: Principal = {
  keyId: 'k1',
  tenantId: 't1',
  tenantSlug: 'acme',
  role: 'user',
  scopes: ['chat'],
  boundUser: null,
  userId: 'ünïcode "quoted"',
};

/** A valid token of a service, except for the given overrides. */
async function token(options: {
  claims?: JWTPayload;
  header?: Record<string, unknown>;
  key?: string;
  drop?: keyof JWTPayload;
}): Promise<string> {
  const { key, kid } = await importPrivateKey(options.key ?? privateKey('edge'));
  const claims: JWTPayload = {
    iss: 'edge',
    aud: 'gatehouse',
    iat: now(),
    exp: now() + 60,
    principal,
    ...options.claims,
  };
  const kept = Object.entries(claims).filter(([name]) => name !== options.drop);
  return new SignJWT(Object.fromEntries(kept))
    .setProtectedHeader({ alg: 'EdDSA', kid, ...options.header })
    .sign(key);
}

describe('a service token', () => {
  it('proves its caller to the one service that it was made for', async () => {
    const made = await chat.serviceToken('tenant');
    expect(await verifier.callerOf(made, 'tenant')).toBe('chat');
    expect(await verifier.callerOf(made, 'tenant')).toBe('chat');
    await expect(verifier.callerOf(made, 'agent')).rejects.toThrow();
    await expect(verifier.principalOf(made)).rejects.toThrow();
  });

  it('is made again after two thirds of its life, and separately for each audience', async () => {
    jest.useFakeTimers({ now: Date.now(), doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    // A separate signer: a shared one may have a cached token that is older than this test.
    const signer = await Signer.create(privateKey('chat'));
    const first = await signer.serviceToken('tenant');
    jest.advanceTimersByTime(39_900);
    expect(await signer.serviceToken('tenant')).toBe(first);
    expect(await signer.serviceToken('agent')).not.toBe(first);
    jest.advanceTimersByTime(200);
    const second = await signer.serviceToken('tenant');
    expect(second).not.toBe(first);
    expect(await verifier.callerOf(second, 'tenant')).toBe('chat');
  });

  it('is no good after its minute and the tolerance for clocks, also when it was good before', async () => {
    jest.useFakeTimers({ now: Date.now(), doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const made = await token({ key: privateKey('chat'), claims: { iss: 'chat', aud: 'tenant' } });
    expect(await verifier.callerOf(made, 'tenant')).toBe('chat');
    jest.advanceTimersByTime(115_000);
    expect(await verifier.callerOf(made, 'tenant')).toBe('chat');
    jest.advanceTimersByTime(6_000);
    await expect(verifier.callerOf(made, 'tenant')).rejects.toThrow();
  });
});

describe('an assertion', () => {
  it('carries the principal as the edge said it', async () => {
    expect(await verifier.principalOf(await edge.assertion(principal))).toEqual(principal);
    const owner: Principal = {
      ...principal,
      tenantId: null,
      tenantSlug: null,
      role: 'owner',
      scopes: [],
      userId: null,
    };
    expect(await verifier.principalOf(await edge.assertion(owner))).toEqual(owner);
  });

  it('is handed out again for the same principal, and for no other', async () => {
    const first = await edge.assertion(principal);
    expect(await edge.assertion({ ...principal })).toBe(first);
    const others: Partial<Principal>[] = [
      { userId: 'other' },
      { tenantId: 't2' },
      { scopes: [] },
      { role: 'admin' },
      { keyId: 'k2' },
    ];
    for (const fields of others) {
      const changed = { ...principal, ...fields };
      const other = await edge.assertion(changed);
      expect(other).not.toBe(first);
      expect(await verifier.principalOf(other)).toEqual(changed);
    }
  });

  it('of any age is accepted where the caller says that its age was checked, and nothing else is skipped', async () => {
    jest.useFakeTimers({ now: Date.now(), doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
    const signer = await Signer.create(privateKey('edge'));
    const made = await signer.assertion(principal);
    jest.advanceTimersByTime(3 * 60 * 60_000);
    await expect(verifier.principalOf(made)).rejects.toThrow();
    expect(await verifier.principalOf(made, { anyAge: true })).toEqual(principal);
    expect(await verifier.principalOf(made, { anyAge: true })).toEqual(principal);
    // Accepting it once does not make the expired assertion valid in other calls.
    await expect(verifier.principalOf(made)).rejects.toThrow();
    const old = { iat: now() - 7_200, exp: now() - 7_140 };
    const refused = [
      token({ claims: { ...old, aud: 'chat' } }),
      token({ claims: { ...old, iss: 'chat' } }),
      token({ claims: old, key: privateKey('chat') }),
      token({ claims: old, header: { kid: 'edge.2' } }),
      token({ drop: 'exp' }),
      token({ claims: { nbf: now() + 600 } }),
      Promise.resolve(''),
      Promise.resolve('a.b.c'),
    ];
    for (const each of refused)
      await expect(verifier.principalOf(await each, { anyAge: true })).rejects.toThrow();
  });

  it('is the edge’s to make: another service’s own word on a principal does not count', async () => {
    await expect(verifier.principalOf(await chat.assertion(principal))).rejects.toThrow(
      'the issuer chat may not assert principals',
    );
    const posing = await token({ key: privateKey('chat'), claims: { iss: 'edge' } });
    await expect(verifier.principalOf(posing)).rejects.toThrow();
  });

  it('names somebody', async () => {
    for (const invalid of [undefined, null, 'admin', 7]) {
      await expect(verifier.principalOf(await token({ claims: { principal: invalid } }))).rejects.toThrow();
    }
  });

  it.each<[string, () => Promise<string>]>([
    ['for another audience', () => token({ claims: { aud: 'chat' } })],
    ['for no audience', () => token({ drop: 'aud' })],
    ['that is out of date', () => token({ claims: { iat: now() - 120, exp: now() - 60 } })],
    ['that never ends', () => token({ drop: 'exp' })],
    ['of tomorrow', () => token({ claims: { nbf: now() + 600 } })],
    ['by nobody', () => token({ drop: 'iss' })],
    ['whose issuer is not its key’s service', () => token({ claims: { iss: 'chat' } })],
    [
      'by a key that nobody published',
      async () => token({ key: (await generateServiceKeys(['edge'])).privateKeys['edge'] ?? '' }),
    ],
    ['under a key id that nobody published', () => token({ header: { kid: 'edge.2' } })],
    ['under another service’s key id', () => token({ header: { kid: 'chat.1' } })],
    ['without a key id', () => token({ header: { kid: undefined } })],
    ['that is empty', () => Promise.resolve('')],
    ['that is no token', () => Promise.resolve('a.b.c')],
    [
      'without a signature',
      async () => {
        const [, body = ''] = (await token({})).split('.');
        return `${Buffer.from('{"alg":"none","kid":"edge.1"}').toString('base64url')}.${body}.`;
      },
    ],
    [
      'signed with the public key as a shared secret',
      async () => {
        return new SignJWT({ iss: 'edge', aud: 'gatehouse', exp: now() + 60, principal })
          .setProtectedHeader({ alg: 'HS256', kid: 'edge.1' })
          .sign(Buffer.from(keys.publicKeys));
      },
    ],
  ])('%s is refused', async (_name, make) => {
    await expect(verifier.principalOf(await make())).rejects.toThrow();
  });

  it('that was changed anywhere is refused, though the true one was just accepted', async () => {
    const made = await token({});
    await verifier.principalOf(made);
    const [header = '', body = '', signature = ''] = made.split('.');
    const claims = JSON.parse(Buffer.from(body, 'base64url').toString()) as JWTPayload;
    const raised = Buffer.from(
      JSON.stringify({ ...claims, principal: { ...principal, role: 'owner' } }),
    ).toString('base64url');
    await expect(verifier.principalOf(`${header}.${raised}.${signature}`)).rejects.toThrow();
    const other = signature.startsWith('A') ? 'B' : 'A';
    await expect(verifier.principalOf(`${header}.${body}.${other}${signature.slice(1)}`)).rejects.toThrow();
  });
});

describe('a delegation', () => {
  const delegation: Delegation = { tenantId: 't1', agentId: 'a1', userId: 'ada' };
  const forChat = (issuer: string) => ({ issuer, service: 'chat' });

  it('of memory or webhook is accepted by chat, for its one agent', async () => {
    for (const issuer of ['memory', 'webhook']) {
      const made = await (await Signer.create(privateKey(issuer))).delegation(delegation);
      expect(isDelegation(made, 'chat')).toBe(true);
      expect(await verifier.delegationOf(made, forChat(issuer))).toEqual(delegation);
    }
  });

  it('is refused by every other service, as an assertion, and as a service token', async () => {
    const made = await (await Signer.create(privateKey('memory'))).delegation(delegation);
    for (const service of ['agent', 'tenant', 'analytics', 'memory', 'webhook', 'edge']) {
      expect(isDelegation(made, service)).toBe(false);
      await expect(verifier.delegationOf(made, { issuer: 'memory', service })).rejects.toThrow();
    }
    await expect(verifier.principalOf(made)).rejects.toThrow();
    await expect(verifier.principalOf(made, { anyAge: true })).rejects.toThrow();
    await expect(verifier.callerOf(made, 'chat')).rejects.toThrow();
  });

  it('is not the word of another service, nor passed on by one', async () => {
    for (const issuer of ['edge', 'chat', 'agent', 'analytics', 'tenant']) {
      const made = await (await Signer.create(privateKey(issuer))).delegation(delegation);
      await expect(verifier.delegationOf(made, forChat(issuer))).rejects.toThrow('may not delegate');
    }
    const made = await (await Signer.create(privateKey('memory'))).delegation(delegation);
    await expect(verifier.delegationOf(made, forChat('webhook'))).rejects.toThrow('may not delegate');
  });

  it.each<[string, JWTPayload]>([
    ['more scopes', { delegation: { ...delegation, scopes: ['chat', 'agents.write'] } }],
    ['another scope', { delegation: { ...delegation, scopes: ['agents.write'] } }],
    ['no scope', { delegation }],
    ['no agent', { delegation: { ...delegation, agentId: undefined, scopes: ['chat'] } }],
    ['no tenant', { delegation: { ...delegation, tenantId: undefined, scopes: ['chat'] } }],
    ['no word on the user', { delegation: { ...delegation, userId: undefined, scopes: ['chat'] } }],
    ['nothing in it', {}],
    ['an age of two minutes', { delegation: { ...delegation, scopes: ['chat'] }, exp: now() - 61 }],
  ])('with %s is refused', async (_name, claims) => {
    const fields = { iss: 'memory', aud: 'gatehouse/chat', ...claims };
    const made = await token({ key: privateKey('memory'), claims: fields });
    await expect(verifier.delegationOf(made, forChat('memory'))).rejects.toThrow();
  });

  it('of chat is accepted by agent and memory, each its own', async () => {
    const chat = await Signer.create(privateKey('chat'));
    for (const [service, other] of [
      ['agent', 'memory'],
      ['memory', 'agent'],
    ] as const) {
      const made = await chat.delegation(delegation, service);
      expect(await verifier.delegationOf(made, { issuer: 'chat', service })).toEqual(delegation);
      await expect(verifier.delegationOf(made, { issuer: 'chat', service: other })).rejects.toThrow();
      const forged = await (await Signer.create(privateKey('webhook'))).delegation(delegation, service);
      await expect(verifier.delegationOf(forged, { issuer: 'webhook', service })).rejects.toThrow();
    }
  });

  it('is made anew for another tenant, agent or user', async () => {
    const memory = await Signer.create(privateKey('memory'));
    const first = await memory.delegation(delegation);
    expect(await memory.delegation({ ...delegation })).toBe(first);
    for (const fields of [{ tenantId: 't2' }, { agentId: 'a2' }, { userId: null }]) {
      const other = await memory.delegation({ ...delegation, ...fields });
      expect(await verifier.delegationOf(other, forChat('memory'))).toEqual({ ...delegation, ...fields });
    }
  });
});

describe('an anonymous assertion', () => {
  it('names its route, and is no principal, delegation or service token', async () => {
    const edge = await Signer.create(privateKey('edge'));
    const made = await edge.anonymous('webhooks.llm');
    expect(await verifier.anonymousRouteOf(made)).toBe('webhooks.llm');
    await expect(verifier.principalOf(made)).rejects.toThrow('contains no principal');
    await expect(verifier.callerOf(made, 'webhook')).rejects.toThrow();
    await expect(verifier.delegationOf(made, { issuer: 'edge', service: 'chat' })).rejects.toThrow();
    await expect(verifier.anonymousRouteOf(await edge.assertion(principal))).rejects.toThrow('no anonymous');
    const forged = await (await Signer.create(privateKey('webhook'))).anonymous('webhooks.llm');
    await expect(verifier.anonymousRouteOf(forged)).rejects.toThrow();
  });
});

describe('service keys', () => {
  it('rotate: both the old and the new one are good while both are published', async () => {
    const { publicKeys, privateKeys } = await generateServiceKeys(['edge']);
    const second = JSON.stringify({ ...(JSON.parse(privateKeys['edge'] ?? '') as object), kid: 'edge.2' });
    const published = (JSON.parse(publicKeys) as { keys: { kid: string }[] }).keys;
    const both = {
      keys: [
        ...published,
        ...published.map((key) => ({ ...key, kid: 'edge.2' })),
        ...(JSON.parse(keys.publicKeys) as { keys: [] }).keys.slice(1),
      ],
    };
    const verifying = await Verifier.create(JSON.stringify(both));
    for (const key of [privateKeys['edge'] ?? '', second]) {
      const signer = await Signer.create(key);
      expect(signer.service).toBe('edge');
      expect(await verifying.principalOf(await signer.assertion(principal))).toEqual(principal);
    }
    expect(serviceOf('edge.2')).toBe('edge');
  });

  it('are published without their private part', () => {
    expect(keys.publicKeys).not.toContain('"d"');
    expect(privateKey('edge')).toContain('"d"');
  });

  it.each([
    ['no JSON', 'secret-material'],
    [
      'no key id',
      JSON.stringify({ kty: 'OKP', crv: 'Ed25519', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }),
    ],
    ['a symmetric key', JSON.stringify({ kty: 'oct', k: 'c2VjcmV0', kid: 'edge.1' })],
  ])('with %s are refused when they are read', async (_name, text) => {
    for (const read of [importPrivateKey(text), importPublicKeys(`{"keys":[${text}]}`)]) {
      await expect(read).rejects.toThrow();
      await expect(read).rejects.not.toThrow(/secret/);
    }
  });
});
