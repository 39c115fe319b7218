import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createRegistry } from '@gatehouse/kit/metrics';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { eventually } from '@gatehouse/test/eventually';
import { failureOf, ProviderFixture, unaryCall } from '../../test/provider-fixture.ts';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { ProviderRegistry } from './registry.ts';

let fixture: ProviderFixture;
beforeAll(async () => {
  fixture = await ProviderFixture.start();
});
afterAll(async () => fixture.stop());

it('connections to a provider that leaves the catalogue close with their calls, or at the stop', async () => {
  const sockets: Socket[] = [];
  const base_url = await fixture.serve((request, response) => {
    sockets.push(request.socket);
    request.resume();
    if (sockets.length > 1) response.setHeader('keep-alive', 'timeout=600').end('{}');
  });
  const catalogueOf = (name: string): Catalogue =>
    Catalogue.parse({
      providers: [{ name, kind: 'openai', base_url }],
      models: [{ id: 'm', provider: name }],
    });
  const catalogue = catalogueOf('leaving');
  const registry = new ProviderRegistry({
    ...{ catalogue, secrets: {}, metrics: createRegistry('test') },
    keyRing: KeyRing.parse(newKeyRing('k')),
  });
  const { adapter } = registry.get(catalogue.models.get('m') as Model);
  const underWay = failureOf(adapter.complete(unaryCall()));
  await eventually(() => expect(sockets).toHaveLength(1));
  await adapter.complete(unaryCall());
  registry.replaceBy({ catalogue: catalogueOf('other'), secrets: {} });
  // The server closes idle connections after 5 s.
  await eventually(() => expect(sockets[1]?.destroyed).toBe(true), 3_000);
  // A run begun before goes on at its provider.
  await adapter.complete(unaryCall());
  expect(sockets[0]?.destroyed).toBe(false);
  await registry.close();
  expect(await underWay).toMatchObject({ kind: 'connection' });
});
