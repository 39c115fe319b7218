import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  anthropicModel,
  anthropicModelList,
  googleModel,
  googleModelList,
  modelList,
} from '@gatehouse/contract/chat';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { chat, ChatHarness, makeAgent } from './chat-harness.ts';

let harness: ChatHarness;
beforeAll(async () => {
  harness = await ChatHarness.start();
});
afterAll(async () => harness.stop());

interface ErrorBody {
  error: { code: string };
}

async function complete(body: unknown): Promise<Response> {
  return harness.post('/v1/chat/completions', body);
}

function lastBody(): unknown {
  return JSON.parse((harness.simulator.requests.at(-1)?.raw_bytes ?? Buffer.alloc(0)).toString('utf8'));
}

describe('an agent', () => {
  it('puts its prompt first and its parameters beneath the client’s', async () => {
    harness.agents.set(
      'helper',
      makeAgent({
        key: 'helper',
        systemPrompt: 'Be "brief".',
        parametersJson: '{"temperature":0.1,"max_tokens":7}',
      }),
    );
    const response = await complete({ ...chat('hi'), model: 'agent:helper', temperature: 0.9 });
    expect(response.status).toBe(200);
    expect(lastBody()).toMatchObject({
      model: 'small',
      temperature: 0.9,
      max_tokens: 7,
      messages: [
        { role: 'system', content: 'Be "brief".' },
        { role: 'user', content: 'hi' },
      ],
    });
    const agent = harness.agents.get('helper');
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ agent_id: agent?.id });
  });

  it('that is disabled is a 403, and one that cannot be seen a 404', async () => {
    harness.agents.set('off', makeAgent({ key: 'off', status: 'disabled' }));
    const disabled = await complete({ ...chat('hi'), model: 'agent:off' });
    expect(disabled.status).toBe(403);
    expect(((await disabled.json()) as ErrorBody).error.code).toBe('agent_disabled');
    const unknown = await complete({ ...chat('hi'), model: 'agent:nobody' });
    expect(unknown.status).toBe(404);
    expect(((await unknown.json()) as ErrorBody).error.code).toBe('model_not_found');
  });

  it('tries its own fallbacks instead of its model’s', async () => {
    harness.agents.set(
      'careful',
      makeAgent({ key: 'careful', model: 'refusing', modelFallbacks: ['vendor/large'] }),
    );
    const response = await complete({ ...chat('hi'), model: 'agent:careful' });
    expect(response.headers.get('x-gateway-model')).toBe('vendor/large');
  });
});

it('an agent is looked up for the acting user, whatever is in the names of user and agent', async () => {
  harness.agents.set('secret', makeAgent({ key: 'secret', systemPrompt: 'Private.' }));
  const gate = Promise.withResolvers<undefined>();
  harness.agentsAnswer = gate.promise;
  const tenantId = newId();
  const ask = (userId: string, model: string): Promise<Response> =>
    harness.post(
      '/v1/chat/completions',
      { ...chat('hi'), model },
      { principal: { tenantId, userId, boundUser: userId } },
    );
  const before = harness.agentLookUps;
  const answers = Promise.all([ask('alice bob', 'agent:secret'), ask('alice', 'agent:bob secret')]);
  // Both look-ups are under way before one is answered.
  await eventually(() => expect(harness.agentLookUps).toBe(before + 2));
  gate.resolve(undefined);
  expect((await answers).map(({ status }) => status)).toEqual([200, 404]);
});

describe('models and embeddings', () => {
  it('lists the catalogue and the agents in OpenAI’s shape, and finds each by its id', async () => {
    harness.agents.set('lister', makeAgent({ key: 'lister' }));
    const list = (await (await harness.get('/v1/models')).json()) as {
      object: string;
      data: { id: string }[];
    };
    expect(list.object).toBe('list');
    const ids = list.data.map((model) => model.id);
    expect(ids).toContain('vendor/large');
    expect(ids).toContain('agent:lister');
    for (const path of ['/v1/models/vendor/large', '/v1/models/vendor%2Flarge', '/v1/models/agent:lister']) {
      expect((await harness.get(path)).status).toBe(200);
    }
    expect((await harness.get('/v1/models/nothing')).status).toBe(404);
  });

  it('answers the clients of other APIs in their shapes', async () => {
    harness.agents.set('lister', makeAgent({ key: 'lister' }));
    const read = async (dialect: string, path: string): Promise<unknown> =>
      (await harness.get(path, {}, dialect)).json();
    for (const root of ['/v1', '/v1beta']) {
      const list = googleModelList.parse(await read('gemini', `${root}/models?pageSize=1000`));
      expect(list.models.map(({ name }) => name)).toEqual(
        expect.arrayContaining(['models/vendor/large', 'models/agent:lister']),
      );
      const one = googleModel.parse(await read('gemini', `${root}/models/vendor%2Flarge`));
      expect(one.name).toBe('models/vendor/large');
      expect(await read('gemini', `${root}/models/nothing`)).toMatchObject({
        error: { code: 404, details: [{ reason: 'MODEL_NOT_FOUND' }, {}] },
      });
    }
    const first = anthropicModelList.parse(await read('messages', '/v1/models?limit=1'));
    const rest = anthropicModelList.parse(
      await read('messages', `/v1/models?limit=1000&after_id=${first.last_id ?? ''}`),
    );
    expect(first.has_more).toBe(true);
    expect(rest.data.map(({ id }) => id)).toContain('agent:lister');
    const one = anthropicModel.parse(await read('messages', '/v1/models/agent:lister'));
    expect(one.display_name).toBe('agent:lister');
    expect(await read('messages', '/v1/models?limit=0')).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error', details: { error_code: 'invalid_value', param: 'limit' } },
    });
    expect(await read('chat', '/v1/models?client_version=0.169.0&limit=0')).toMatchObject({ models: [] });
  });

  it('lists every agent, or says that there are more than fit into an answer', async () => {
    const listed = async (): Promise<{ bytes: number; ids: string[]; more: unknown }> => {
      const text = await (await harness.get('/v1/models')).text();
      const list = modelList.parse(JSON.parse(text));
      return {
        bytes: Buffer.byteLength(text),
        ids: list.data.map(({ id }) => id).filter((id) => id.startsWith('agent:many-')),
        more: list.has_more,
      };
    };
    const key = (n: number): string => `many-${String(n).padStart(59, '0')}`;
    for (let n = 0; n < 2_500; n += 1) harness.agents.set(key(n), makeAgent({ key: key(n) }));
    const all = await listed();
    expect(all.ids).toEqual(Array.from({ length: 2_500 }, (_, n) => `agent:${key(n)}`));
    expect(all.more).toBeUndefined();
    for (let n = 2_500; n < 10_000; n += 1) harness.agents.set(key(n), makeAgent({ key: key(n) }));
    const cut = await listed();
    expect(cut.more).toBe(true);
    expect(new Set(cut.ids).size).toBe(cut.ids.length);
    expect(cut.bytes).toBeGreaterThan(2 ** 20 - 1_000);
    expect(cut.bytes).toBeLessThan(2 ** 20 + 1_000);
    for (let n = 0; n < 10_000; n += 1) harness.agents.delete(key(n));
  });

  it('reads one list for concurrent requests that see the same agents, and works on a bounded number at a time', async () => {
    const gate = Promise.withResolvers<undefined>();
    harness.agentsAnswer = gate.promise;
    harness.agentListCalls = 0;
    const tenantId = newId();
    const statuses: number[] = [];
    const answers = Array.from({ length: 40 }, async (_, n) => {
      const userId = n % 2 === 0 ? 'alice' : 'bob';
      const { status } = await harness.get('/v1/models', { tenantId, role: 'user', userId });
      statuses.push(status);
    });
    await eventually(() => expect(harness.agentListCalls).toBe(2));
    expect((await harness.get('/v1/models/small')).status).toBe(200);
    gate.resolve(undefined);
    await Promise.all(answers);
    expect(statuses).toEqual(Array(40).fill(200));
    // 16 at a time, and those of one user among them share a list.
    expect(harness.agentListCalls).toBeLessThan(20);
  });

  it('shows a limited tenant only its own models', async () => {
    const tenantId = newId();
    harness.settings.set(tenantId, {
      allowedModels: { ids: ['small'] },
      previewsEnabled: true,
      previewMaxChars: 500,
      retentionDays: 90,
    });
    const list = (await (await harness.get('/v1/models', { tenantId })).json()) as { data: { id: string }[] };
    expect(list.data.map((model) => model.id).filter((id) => !id.startsWith('agent:'))).toEqual(['small']);
    expect((await harness.get('/v1/models/vendor/large', { tenantId })).status).toBe(404);
  });

  it('passes embeddings through and meters them', async () => {
    const response = await harness.post('/v1/embeddings', {
      model: 'small',
      input: ['a', 'b'],
      dimensions: 4,
    });
    expect(response.status).toBe(200);
    const body = (await response.json()) as {
      data: { embedding: number[] }[];
      usage: { prompt_tokens: number };
    };
    expect(body.data).toHaveLength(2);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      operation: 'embeddings',
      input_tokens: body.usage.prompt_tokens,
      output_tokens: 0,
    });
    expect((await harness.post('/v1/embeddings', { model: 'small' })).status).toBe(400);
    expect((await harness.post('/v1/embeddings', { model: 'small', input: [] })).status).toBe(400);
  });
});
