import { expect, it } from '@jest/globals';
import { Catalogue } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { LargeWork } from '../shared/large-work.ts';
import { MessageRequests } from './message-request-handlers.ts';

const catalogue = Catalogue.parse({
  providers: [{ name: 'claude', kind: 'anthropic', base_url: 'http://localhost', api_key_env: 'KEY' }],
  models: [{ id: 'm', provider: 'claude', max_output_tokens: 9 }],
});

/** Requests whose deployments and signatures are noted when they are looked up. */
function requestsOf(body: string) {
  const looks: string[] = [];
  const requests = new MessageRequests(Buffer.from(body), {
    tenantId: 't',
    targetFor: (model) => {
      looks.push(`target of ${model}`);
      return modelTarget(catalogue, model, null);
    },
    headers: {},
    guardrails: { passed: (body) => Promise.resolve(body) },
    signaturesFor: (_text, target) => {
      looks.push(`signatures for ${target.chain[0].id}`);
      return Promise.resolve({});
    },
  });
  return { requests, looks };
}

/** `model`: the first member of the first request, as JSON. */
const twoRequests = (model: string): string => {
  const others = '"max_tokens":9,"messages":[{"role":"user","content":"x"}]';
  const [first, second] = [model, '"model":"m"'].map((member) => `{${member},${others}}`);
  return `{"requests":[{"custom_id":"a","params":${first}},{"custom_id":"b","params":${second}}]}`;
};

it.each(['"model":"m"', `${' '.repeat(300)}"model"${' '.repeat(300)}:"m"`])(
  'a batch has one deployment, for which the signatures of all its requests are looked up',
  async (model) => {
    const { requests, looks } = requestsOf(twoRequests(model));
    const checked = await requests.checked('a');
    expect(checked.requests.sum.count).toBe(2);
    expect(looks).toEqual(['target of m', 'signatures for m', 'signatures for m']);
  },
);

it('a model that is too long to be read before its request is refused', async () => {
  const { requests, looks } = requestsOf(twoRequests(`"model":${' '.repeat(70_000)}"m"`));
  await expect(requests.checked('a')).rejects.toMatchObject({
    code: 'invalid_value',
    param: 'requests.0.params.model',
  });
  expect(looks).toEqual([]);
});

it('a large request of a batch has no turn while its signatures are looked up', async () => {
  const content = 'x'.repeat(2 * 1024 * 1024);
  const params = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content }] };
  const requests = ['a', 'b'].map((custom_id) => ({ custom_id, params }));
  let lookedUp = 0;
  const checked = await new MessageRequests(Buffer.from(JSON.stringify({ requests })), {
    tenantId: 't',
    targetFor: (model) => modelTarget(catalogue, model, null),
    headers: {},
    guardrails: { passed: (body) => Promise.resolve(body) },
    signaturesFor: async () => {
      await LargeWork.during({ tenantId: 'another tenant', bytes: content.length }, () => Promise.resolve());
      lookedUp += 1;
      return {};
    },
  }).checked('a');
  expect([checked.requests.sum.count, lookedUp]).toEqual([2, 2]);
});
