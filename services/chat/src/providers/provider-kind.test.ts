import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { failureOf, unaryCall } from '../../test/provider-fixture.ts';
import { ScriptedProvider, whole } from '../../test/scripted-provider.ts';
import { Catalogue } from '../catalogue/catalogue.ts';
import { CredentialsError, type Credentials } from './credentials.ts';
import { HttpAdapter } from './http-adapter.ts';
import { byApi } from './kinds/by-api.ts';
import { Repeats } from './retry-delay.ts';

let provider: ScriptedProvider;
const adapters: HttpAdapter[] = [];
beforeAll(async () => {
  provider = await ScriptedProvider.start();
});
afterEach(async () => {
  await Promise.all(adapters.splice(0).map((adapter) => adapter.close()));
});
afterAll(() => {
  provider.stop();
});

function adapterWith(credentials: Credentials): HttpAdapter {
  const entry = { name: 'acme', kind: 'openai', base_url: `${provider.url}/v1` };
  const [parsed] = Catalogue.parse({
    providers: [entry],
    models: [{ id: 'm', provider: 'acme' }],
  }).providers;
  if (parsed === undefined) throw new Error('the catalogue has no provider');
  const adapter = new HttpAdapter(parsed, byApi(credentials));
  adapters.push(adapter);
  return adapter;
}

describe('credentials that are fetched first', () => {
  it('see the whole request, and go out with it', async () => {
    provider.answer(whole({ id: 'x' }));
    const seen: unknown[] = [];
    const adapter = adapterWith({
      headersFor: async (request) => {
        seen.push(request.path, JSON.parse(request.body.toString()));
        return Promise.resolve({ authorization: 'Bearer fetched' });
      },
    });
    await adapter.complete(unaryCall());
    expect(seen).toEqual(['/v1/chat/completions', expect.objectContaining({ model: 'm' })]);
    expect(provider.received[0]?.headers.authorization).toBe('Bearer fetched');
  });

  it('hold no client that leaves, for which nothing is sent', async () => {
    provider.answer(whole({ id: 'x' }));
    const { promise, resolve } = Promise.withResolvers<Record<string, string>>();
    const adapter = adapterWith({ headersFor: () => promise });
    const left = new AbortController();
    const failed = failureOf(adapter.complete({ ...unaryCall(), signal: left.signal }));
    const answered = adapter.complete(unaryCall());
    const began = Date.now();
    left.abort();
    expect((await failed).kind).toBe('aborted');
    expect(Date.now() - began).toBeLessThan(1_000);
    resolve({});
    await answered;
    expect(provider.received).toHaveLength(1);
  });

  it.each<[string, Error, string]>([
    ['none are to be had', new CredentialsError('the token endpoint answered 401'), 'credentials'],
    ['they fail otherwise', new TypeError('x is undefined'), 'invalid'],
  ])('fail the call before it is sent where %s', async (_why, error, kind) => {
    provider.answer();
    for (const headersFor of [
      () => Promise.reject(error),
      () => {
        throw error;
      },
    ]) {
      const failure = await failureOf(adapterWith({ headersFor }).complete(unaryCall()));
      expect([failure.kind, failure.cause]).toEqual([kind, error]);
    }
    expect(provider.received).toEqual([]);
  });

  it('are stale where a refusal replaced them, and only for a status of credentials', async () => {
    const failures: unknown[] = [];
    for (const status of [401, 403, 400]) {
      for (const helps of [true, false]) {
        provider.answer(whole({ error: { message: 'no' } }, status));
        const adapter = adapterWith({ headersFor: () => ({}), refused: () => Promise.resolve(helps) });
        failures.push((await failureOf(adapter.complete(unaryCall()))).details.isStale ?? false);
      }
    }
    expect(failures).toEqual([true, false, true, false, false, false]);
  });
});

describe('calls after failed ones', () => {
  it('have other credentials once, and retries beside that', async () => {
    provider.answer(whole({}, 401), whole({}, 500));
    const adapter = adapterWith({ headersFor: () => ({}), refused: () => Promise.resolve(true) });
    const stale = await failureOf(adapter.complete(unaryCall()));
    const down = await failureOf(adapter.complete(unaryCall()));
    const repeats = new Repeats(1);
    expect([stale, stale, down, down].map((failure) => repeats.after(failure) !== null)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});
