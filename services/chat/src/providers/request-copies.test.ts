import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '@gatehouse/local/ports';
import { eventually } from '@gatehouse/test/eventually';
import { failureOf, ProviderFixture, streamCall, unaryCall } from '../../test/provider-fixture.ts';
import { Pieces } from '@gatehouse/dialects/wire/pieces';
import type { ProviderCall } from './adapter.ts';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterEach(async () => fixture.reset());
afterAll(async () => fixture.stop());

describe('copies of a request', () => {
  const body = (): Pieces =>
    Pieces.from(Buffer.from(JSON.stringify({ model: 'm', text: 'x'.repeat(200_000) })));

  it('count no longer once the call has ended, however it ends', async () => {
    const counts: number[] = [];
    const ofCopies = (): Pick<ProviderCall, 'body' | 'copied'> => ({
      body: body(),
      copied: (bytes) => counts.push(bytes),
    });
    const gone = fixture.adapter({ base_url: `http://127.0.0.1:${await freePort()}/v1` });
    await failureOf(gone.complete({ ...unaryCall(), ...ofCopies() }));
    expect(counts.splice(0)).toEqual([0]);
    await failureOf(gone.stream(streamCall({}, ofCopies())));
    expect(counts.splice(0)).toEqual([0]);
    const client = new AbortController();
    const headersFor = (): Promise<never> => new Promise(() => undefined);
    const credentials = { headersFor };
    const left = gone.complete({ ...unaryCall(), ...ofCopies(), credentials, signal: client.signal });
    client.abort();
    expect(await failureOf(left)).toMatchObject({ kind: 'aborted' });
    expect(counts.splice(0)).toEqual([0]);
  });

  it.each([
    // Its edits share the request's memory.
    ['a body that a kind of provider edits', { api: 'messages' as const, model: 'anthropic.claude-x' }, 0],
    ['parts of a call', { operation: 'embeddings' as const, model: 'amazon.titan-embed-text-v2:0' }, 200_000],
  ])('count for %s', async (_name, asked, copied) => {
    const counts: number[] = [];
    const base_url = `http://127.0.0.1:${await freePort()}`;
    const gone = fixture.adapter({ kind: 'bedrock', region: 'us-east-1', base_url });
    const text = 'x'.repeat(200_000);
    const call = {
      ...{ ...unaryCall(), ...asked, copied: (bytes: number) => counts.push(bytes) },
      body: Pieces.from(
        Buffer.from(JSON.stringify({ model: 'm', max_tokens: 9, messages: [], input: [text] })),
      ),
    };
    await failureOf(gone.complete(call));
    expect(counts[0]).toBeGreaterThanOrEqual(copied);
    expect(counts[0]).toBeLessThan(copied + text.length);
    expect(counts.at(-1)).toBe(0);
  });

  it('count no longer once they are sent, and the end of that call changes nothing for a later one', async () => {
    const counts: number[] = [];
    const answer = Promise.withResolvers<undefined>();
    const base_url = await fixture.serve((request, response) => {
      request.resume().on('end', () => void answer.promise.then(() => response.end('{}')));
    });
    const call = { ...unaryCall(), body: body(), copied: (bytes: number) => counts.push(bytes) };
    const answered = fixture.adapter({ base_url }).complete(call);
    await eventually(() => expect(counts).toEqual([0]));
    answer.resolve(undefined);
    await answered;
    expect(counts).toEqual([0]);
  });
});
