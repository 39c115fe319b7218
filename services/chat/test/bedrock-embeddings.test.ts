import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import OpenAI from 'openai';
import { ChatHarness } from './chat-harness.ts';
import { CompletionServer } from './completion-server.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';
import { expectedSignature } from './signature.ts';

/** OpenAI's embeddings with models of Amazon Bedrock, by InvokeModel. */

const keys = { id: 'AKIDEXAMPLE', secret: 'secret/EXAMPLE+KEY', region: 'eu-central-1' };
const upstreams = {
  titan: 'amazon.titan-embed-text-v2:0',
  'titan-1': 'amazon.titan-embed-text-v1',
  'titan-image': 'amazon.titan-embed-image-v1',
  nova: 'amazon.nova-2-multimodal-embeddings-v1:0',
  'cohere-3': 'cohere.embed-multilingual-v3',
  'cohere-4': 'eu.cohere.embed-v4:0',
} as const;

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  const at = { kind: 'bedrock', region: keys.region, base_url: provider.url, max_retries: 0 };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { name: 'signed', ...at, access_key: { id_env: 'ID', secret_env: 'SECRET' } },
        { name: 'patient', ...at, api_key_env: 'UNUSED', max_retries: 1 },
        { name: 'other', kind: 'openai', base_url: `${provider.url}/v1`, max_retries: 0 },
      ],
      models: [
        ...Object.entries(upstreams).map(([id, upstream_model]) => ({
          ...{ id, provider: 'signed', upstream_model },
          price: { input_per_mtok: '1', output_per_mtok: '0' },
        })),
        { id: 'retried', provider: 'patient', upstream_model: upstreams.titan },
        { id: 'unknown', provider: 'signed', upstream_model: 'amazon.nova-2-lite-v1:0' },
        { id: 'claude', provider: 'signed', api: 'messages', upstream_model: 'anthropic.claude-x' },
        { id: 'first-elsewhere', provider: 'other', fallbacks: ['titan'] },
      ],
      embeddings: { model: 'titan' },
    },
    { ID: keys.id, SECRET: keys.secret },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const ask = (fields: object, options = {}): Promise<Response> =>
  harness.post('/v1/embeddings', { model: 'titan', input: ['one', 'two'], ...fields }, options);
const sent = (): unknown[] => provider.received.map(({ body }) => JSON.parse(body.toString()) as unknown);

/** Amazon's model, which takes exactly these members. */
const titan: Script = (received) => {
  const {
    inputText,
    dimensions = 1_024,
    ...others
  } = JSON.parse(received.body.toString()) as Record<string, unknown>;
  const isRight =
    received.path === `/model/${encodeURIComponent(upstreams.titan)}/invoke` &&
    received.headers.authorization === expectedSignature(received, keys) &&
    typeof inputText === 'string' &&
    inputText !== '' &&
    [256, 512, 1_024].includes(Number(dimensions)) &&
    Object.keys(others).length === 0;
  if (!isRight) whole({ message: 'Malformed input request.' }, 400)(received);
  else {
    const embedding = [inputText.length, 0.5];
    whole({ embedding, embeddingsByType: { float: embedding }, inputTextTokenCount: 3 })(received);
  }
};

/** Cohere's models: the vectors by type, and the tokens in a header. */
const cohere =
  (fields: readonly string[], { isTyped = true, reportsTokens = true } = {}): Script =>
  (received) => {
    const asked = JSON.parse(received.body.toString()) as { texts: string[]; input_type: string };
    const { texts, input_type: type } = asked;
    const isRight =
      received.headers.authorization === expectedSignature(received, keys) &&
      texts.length <= 96 &&
      texts.every((text) => typeof text === 'string') &&
      ['search_document', 'search_query'].includes(type) &&
      Object.keys(asked).every((name) =>
        ['texts', 'input_type', 'embedding_types', ...fields].includes(name),
      );
    if (!isRight) {
      whole({ message: 'Malformed input request.' }, 400)(received);
      return;
    }
    const float = texts.map((text) => [Number(text), 1.5]);
    whole(
      { id: 'x', texts, embeddings: isTyped ? { float } : float, response_type: 'embeddings_by_type' },
      200,
      reportsTokens ? { 'X-Amzn-Bedrock-Input-Token-Count': '7' } : {},
    )(received);
  };

const vectorsIn = async (response: Response): Promise<unknown[]> => {
  const { data } = (await response.json()) as { data: { index: number; embedding: unknown }[] };
  expect(data.map(({ index }) => index)).toEqual(data.map((_each, index) => index));
  return data.map(({ embedding }) => embedding);
};

describe('embeddings of Amazon’s models at Bedrock', () => {
  it('are asked for text by text, shown as OpenAI’s, and metered as one run', async () => {
    provider.answer(titan, titan);
    const response = await ask({ input: ['a', 'größe'], dimensions: 256 });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        object: 'list',
        data: [
          { object: 'embedding', index: 0, embedding: [1, 0.5] },
          { object: 'embedding', index: 1, embedding: [5, 0.5] },
        ],
        model: upstreams.titan,
        usage: { prompt_tokens: 6, total_tokens: 6 },
      },
    ]);
    expect(sent()).toContainEqual({ inputText: 'größe', dimensions: 256 });
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ operation: 'embeddings', status: 'ok', dialect: 'chat', provider: 'signed' },
      ...{ input_tokens: 6, output_tokens: 0, usage_estimated: false, cost_pico: '6000000' },
      spans: [{ kind: 'embedding', status: 'ok' }],
    });
  });

  it('of many texts are asked for by eight calls at a time, in any order, and stand in that of the texts', async () => {
    let open = 0;
    let most = 0;
    const eight = Promise.withResolvers<null>();
    const slow: Script = async (received) => {
      open += 1;
      most = Math.max(most, open);
      if (open === 8) eight.resolve(null);
      await eight.promise;
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      open -= 1;
      titan(received);
    };
    provider.answer(...Array.from({ length: 100 }, () => slow));
    const response = await ask({
      input: Array.from({ length: 100 }, (_none, index) => 'x'.repeat(index + 1)),
    });
    expect(await vectorsIn(response)).toEqual(
      Array.from({ length: 100 }, (_none, index) => [index + 1, 0.5]),
    );
    expect([provider.received.length, most]).toEqual([100, 8]);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({ input_tokens: 300 });
  });

  it('fail together, end the calls under way, and are charged for what was answered', async () => {
    let closed = 0;
    const hanging: Script = ({ response }) => {
      response.on('close', () => {
        closed += 1;
      });
    };
    const refusal: Script = async (received) => {
      await eventually(() => {
        if (provider.received.length < 9) throw new Error('not all calls are open');
      });
      whole({ message: 'Of the account 123.' }, 429, { 'retry-after': '7' })(received);
    };
    provider.answer(titan, refusal, ...Array.from({ length: 7 }, () => hanging));
    const response = await ask({ input: Array.from({ length: 50 }, () => 'text') });
    expect([response.status, response.headers.get('retry-after')]).toEqual([429, '7']);
    expect(await response.text()).not.toContain('account');
    await eventually(() => {
      if (closed < 7) throw new Error('calls are open');
    });
    expect(provider.received.length).toBe(9);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ status: 'error', input_tokens: 3, cost_pico: '3000000' },
    });
  });

  it('end when their client leaves', async () => {
    let closed = 0;
    provider.answer(
      titan,
      ...Array.from({ length: 8 }, (): Script => ({ response }) => {
        response.on('close', () => {
          closed += 1;
        });
      }),
    );
    const left = new AbortController();
    const asking = ask({ input: Array.from({ length: 50 }, () => 'text') }, { signal: left.signal });
    const outcome = asking.catch((error: unknown) => error);
    await eventually(() => {
      if (provider.received.length < 9) throw new Error('not all calls are open');
    });
    left.abort();
    await outcome;
    await eventually(() => {
      if (closed < 8) throw new Error('calls are open');
    });
    expect(provider.received.length).toBe(9);
  });

  it('of texts and pictures are asked for in their own bodies', async () => {
    provider.answer(whole({ embedding: [1, 2], inputTextTokenCount: 4 }));
    const image = await ask({ model: 'titan-image', input: 'größe', dimensions: 384 });
    expect(sent()).toEqual([{ inputText: 'größe', embeddingConfig: { outputEmbeddingLength: 384 } }]);
    expect([image.status, await vectorsIn(image)]).toEqual([200, [[1, 2]]]);
    const nova: Script = (received) =>
      whole({ embeddings: [{ embeddingType: 'TEXT', embedding: [3] }] }, 200, {
        'X-Amzn-Bedrock-Input-Token-Count': '5',
      })(received);
    provider.answer(nova, nova);
    const two = await ask({ model: 'nova', dimensions: 256, input_type: 'search_query' });
    const params = { embeddingPurpose: 'TEXT_RETRIEVAL', embeddingDimension: 256 };
    const text = (value: string) => ({ truncationMode: 'NONE', value });
    expect(sent()).toEqual(
      ['one', 'two'].map((value) => ({
        ...{ taskType: 'SINGLE_EMBEDDING', singleEmbeddingParams: { ...params, text: text(value) } },
      })),
    );
    expect([two.status, two.headers.get('x-gateway-ignored')]).toEqual([200, null]);
    expect(await two.json()).toMatchObject({
      data: [{ embedding: [3] }, { embedding: [3] }],
      usage: { prompt_tokens: 10 },
    });
    provider.answer(nova);
    await ask({ model: 'nova', input: 'x' });
    expect(sent()).toMatchObject([{ singleEmbeddingParams: { embeddingPurpose: 'GENERIC_INDEX' } }]);
    const odd = await ask({ model: 'nova', dimensions: 512 });
    expect([odd.status, await odd.json()]).toMatchObject([400, { error: { param: 'dimensions' } }]);
  });

  it('leave out hints, and name them', async () => {
    provider.answer(titan, cohere(['output_dimension']));
    const hints = { user: 'u', input_type: 'search_query', newest: 1, dimensions: null, metadata: null };
    const one = await ask({ input: 'a', ...hints });
    expect([one.status, one.headers.get('x-gateway-ignored')]).toEqual([200, 'user, input_type, newest']);
    const other = await ask({ model: 'cohere-4', input: '1', ...hints });
    expect([other.status, other.headers.get('x-gateway-ignored')]).toEqual([200, 'user, newest']);
  });

  it('are asked for again as a whole where that may help, and take over from other models', async () => {
    provider.answer(
      whole({ message: 'x' }, 429, { 'retry-after': '0' }),
      whole({ embedding: [1], inputTextTokenCount: 1 }),
    );
    const again = await ask({ model: 'retried', input: 'text' });
    expect([again.status, await vectorsIn(again)]).toEqual([200, [[1]]]);
    provider.answer(whole({}, 500), titan, titan);
    const fallen = await ask({ model: 'first-elsewhere' });
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'titan']);
  });

  it('that are no vectors, or too few, are an error', async () => {
    for (const odd of [{}, { embedding: 'x' }, { embedding: null }, { embeddings: [[1]] }]) {
      provider.answer(whole(odd));
      const response = await ask({ input: 'text' });
      expect([response.status, await response.json()]).toMatchObject([
        502,
        { error: { code: 'provider_invalid_response' } },
      ]);
    }
    provider.answer(whole({ message: 'expected maxLength: 50000' }, 400));
    const refused = await ask({ input: 'text' });
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { message: 'expected maxLength: 50000', type: 'invalid_request_error' } },
    ]);
  });

  it('are those of memory', async () => {
    provider.answer(titan, titan, titan);
    const memory = await harness.peer('memory');
    const tenantId = newId();
    const assertion = await harness.identity.assertion({ tenantId, tenantSlug: 'acme', userId: 'a' });
    const texts = { texts: ['one', 'three', 'four'], agentId: newId() };
    expect(await memory.call('embed', texts, { deadlineMs: 5_000, assertion })).toEqual({
      model: 'titan',
      embeddings: [3, 5, 4].map((length) => ({ values: [length, 0.5] })),
    });
  });
});

describe('embeddings of Cohere’s models at Bedrock', () => {
  it('are asked for by 96 texts at most, with the dimensions and the purpose of the client', async () => {
    const four = cohere(['output_dimension']);
    provider.answer(four, four, four);
    const input = Array.from({ length: 200 }, (_none, index) => String(index));
    const response = await ask({
      ...{ model: 'cohere-4', input, dimensions: 1_536, input_type: 'search_query' },
    });
    expect(await vectorsIn(response)).toEqual(input.map((text) => [Number(text), 1.5]));
    expect(provider.received.map(({ path }) => path)).toEqual(
      Array.from({ length: 3 }, () => '/model/eu.cohere.embed-v4%3A0/invoke'),
    );
    const bodies = sent() as { texts: string[] }[];
    expect(bodies.map(({ texts }) => texts.length).sort((a, b) => a - b)).toEqual([8, 96, 96]);
    expect(bodies[0]).toMatchObject({
      ...{ input_type: 'search_query', embedding_types: ['float'], output_dimension: 1_536 },
    });
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ input_tokens: 21, usage_estimated: false },
    });
  });

  it('may be a plain list, and are of documents unless the client says otherwise', async () => {
    provider.answer(cohere([], { isTyped: false }));
    const response = await ask({ model: 'cohere-3', input: ['1', '2'], dimensions: 1_024 });
    expect(await vectorsIn(response)).toEqual([
      [1, 1.5],
      [2, 1.5],
    ]);
    expect(sent()).toEqual([
      { texts: ['1', '2'], input_type: 'search_document', embedding_types: ['float'] },
    ]);
  });

  it('have an estimate of the tokens where none are reported', async () => {
    provider.answer(cohere([], { reportsTokens: false }));
    const response = await ask({ model: 'cohere-3', input: ['1', '2'] });
    const { usage } = (await response.json()) as { usage: { prompt_tokens: number } };
    expect(usage.prompt_tokens).toBeGreaterThan(0);
    expect(await harness.endedRun(response.headers.get('x-run-id'))).toMatchObject({
      ...{ input_tokens: usage.prompt_tokens, usage_estimated: true },
    });
  });

  it('that are more or fewer than the texts are an error', async () => {
    for (const embeddings of [{ float: [[1]] }, { float: [[1], [2], [3]] }, { int8: [[1], [2]] }, {}]) {
      provider.answer(whole({ embeddings }));
      expect((await ask({ model: 'cohere-3' })).status).toBe(502);
    }
  });
});

describe('embeddings that a model of Bedrock can’t make', () => {
  it.each([
    [{ input: [1, 2] }, 'input'],
    [{ input: [[1], [2]] }, 'input'],
    [{ input: Array.from({ length: 2_049 }, () => 'a') }, 'input'],
    [{ dimensions: 3_072 }, 'dimensions'],
    [{ model: 'titan-1', dimensions: 256 }, 'dimensions'],
    [{ model: 'cohere-3', dimensions: 256 }, 'dimensions'],
    [{ encoding_format: 'hex' }, 'encoding_format'],
    [{ model: 'cohere-4', input_type: 'image' }, 'input_type'],
    [{ model: 'unknown' }, 'model'],
    [{ model: 'claude' }, 'model'],
  ])('are refused before any call for %j', async (fields, param) => {
    provider.answer();
    const response = await ask(fields);
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { error: { code: 'unsupported_parameter', param } },
    ]);
    expect(provider.received).toEqual([]);
  });
});

describe('embeddings of Bedrock', () => {
  it('are what OpenAI’s SDK reads, which asks for Base64', async () => {
    const bedrock = { name: 'bedrock', kind: 'bedrock', region: 'us-east-1', base_url: provider.url };
    const server = await CompletionServer.start(
      {
        providers: [{ ...bedrock, api_key_env: 'UNUSED' }],
        models: [{ id: 'embedder', provider: 'bedrock', upstream_model: 'us.cohere.embed-v4:0' }],
      },
      'chat',
    );
    provider.answer(
      whole(
        {
          embeddings: {
            float: [
              [0.5, 1],
              [2, 3],
            ],
          },
        },
        200,
        { 'x-amzn-bedrock-input-token-count': '4' },
      ),
    );
    const client = new OpenAI({ apiKey: 'key', baseURL: `${server.url}/v1`, maxRetries: 0 });
    const { data, usage } = await client.embeddings.create({ model: 'embedder', input: ['one', 'two'] });
    expect(data.map(({ embedding }) => embedding)).toEqual([
      [0.5, 1],
      [2, 3],
    ]);
    expect(usage).toEqual({ prompt_tokens: 4, total_tokens: 4 });
    await server.stop();
  });
});
