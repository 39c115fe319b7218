import { expect, it } from '@jest/globals';
import { Catalogue } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { LargeWork } from '../shared/large-work.ts';
import { MessageRequests } from './message-requests-http.ts';

it('a large request of a batch has no turn while its signatures are looked up', async () => {
  const catalogue = Catalogue.parse({
    providers: [{ name: 'claude', kind: 'anthropic', base_url: 'http://localhost', api_key_env: 'KEY' }],
    models: [{ id: 'm', provider: 'claude', max_output_tokens: 9 }],
  });
  const content = 'x'.repeat(2 * 1024 * 1024);
  const params = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] };
  const requests = ['a', 'b'].map((custom_id) => ({ custom_id, params }));
  let lookedUp = 0;
  const checked = await new MessageRequests(Buffer.from(JSON.stringify({ requests })), {
    tenantId: 't',
    targetFor: (model) => modelTarget(catalogue, model, null),
    headers: {},
    sealsFor: async () => {
      await LargeWork.during({ tenantId: 'another tenant', bytes: content.length }, () => Promise.resolve());
      lookedUp += 1;
      return {};
    },
  }).checked('a');
  expect([checked.requests.sum.count, lookedUp]).toEqual([2, 2]);
});
