import { expect, it } from '@jest/globals';
import type { Call } from '@gatehouse/http/app';
import type { Reply } from '@gatehouse/http/reply';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { longestBlock } from '@gatehouse/test/longest-block';
import { Catalogue } from './catalogue.ts';
import { modelHandlers, type ModelDependencies } from './model-handlers.ts';

const acme = { name: 'acme', kind: 'openai', base_url: 'https://acme.example/v1' };

it('a list of the names behind 1,000 patterns leaves the event loop to others', async () => {
  const models = Array.from({ length: 1_000 }, (_, n) => ({
    ...{ id: `family-${n}-*`, provider: 'acme' },
    list: Array.from({ length: 10 }, (_each, m) => `family-${n}-${m}`),
  }));
  const list = modelHandlers({
    catalogue: Catalogue.parse({ providers: [acme], models }),
    agents: { list: async function* () {} },
    settings: { getNow: async () => ({ allowedModels: null }) },
  } as unknown as ModelDependencies)['models.list'];
  const call = {
    ...{ dialect: 'chat', query: {}, requestId: 'r', trace: continueTrace(undefined) },
    principal: { keyId: 'k', tenantId: 't', tenantSlug: 't', role: 'developer', userId: null },
  } as unknown as Call;
  let reply: Reply | undefined;
  const blocked = await longestBlock(async () => {
    reply = (await list?.(call)) as Reply;
  }, 50);
  expect(blocked).toBeLessThan(50);
  const { data } = reply?.body as { data: { id: string }[] };
  expect(data).toHaveLength(10_000);
  expect(data.at(-1)).toMatchObject({ id: 'family-999-9', owned_by: 'acme' });
});
