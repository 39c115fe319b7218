import { generateKeyPairSync, verify } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import { chunkFrame } from '@gatehouse/test/aws-frames';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, streamed, whole, type ReceivedRequest, type Script } from './scripted-provider.ts';
import { expectedSignature } from './signature.ts';
import { answers } from './translated-answers.ts';
import { awsStream } from './aws-stream.ts';

/** Providers whose credentials are granted by an issuer, or sign requests. */

let provider: ScriptedProvider;
let issuer: ScriptedProvider;
let harness: ChatHarness;
let folder: string;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const keys = { id: 'AKIDEXAMPLE', secret: 'secret/EXAMPLE+KEY', region: 'eu-central-1' };
const fileOf = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  provider = await ScriptedProvider.start();
  issuer = await ScriptedProvider.start();
  folder = await mkdtemp(path.join(tmpdir(), 'credentials-'));
  const account = {
    ...{ type: 'service_account', client_email: 'gw@p.iam.gserviceaccount.com', private_key: pem },
    token_uri: `${issuer.url}/google`,
  };
  await writeFile(fileOf('account.json'), JSON.stringify(account));
  await writeFile(fileOf('subject.txt'), 'subject-token');
  await writeFile(fileOf('rotated.txt'), 'first-token');
  const federation = {
    ...{ type: 'external_account', audience: '//iam.googleapis.com/x', token_url: `${issuer.url}/sts` },
    ...{ subject_token_type: 'urn:ietf:params:oauth:token-type:jwt' },
    credential_source: { file: fileOf('subject.txt') },
  };
  await writeFile(fileOf('federation.json'), JSON.stringify(federation));
  const at = { base_url: provider.url, max_retries: 0 };
  const entra = { tenant_id: 'contoso', client_id: 'gw', authority_url: issuer.url };
  const azure = { ...at, kind: 'azure' };
  const vertex = {
    ...at,
    kind: 'vertex',
    base_url: `${provider.url}/v1`,
    project: 'my-project',
    region: 'eu',
  };
  const bedrock = { ...at, kind: 'bedrock', region: keys.region };
  const identity = {
    role_arn: 'arn:aws:iam::123:role/gw',
    token_file: fileOf('rotated.txt'),
    sts_url: issuer.url,
  };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        { ...azure, name: 'secret', entra: { ...entra, client_secret_env: 'UNUSED' } },
        { ...azure, name: 'refused', entra: { ...entra, client_secret_env: 'UNUSED' } },
        { ...azure, name: 'short', entra: { ...entra, token_file: fileOf('rotated.txt') } },
        { ...vertex, name: 'account', credentials_file: fileOf('account.json') },
        { ...vertex, name: 'federation', credentials_file: fileOf('federation.json') },
        { ...bedrock, name: 'signed', access_key: { id_env: 'ID', secret_env: 'SECRET' } },
        { ...bedrock, name: 'role', web_identity: identity },
      ],
      models: [
        { id: 'gpt', provider: 'secret' },
        { id: 'gpt-refused', provider: 'refused', fallbacks: ['fallback'] },
        { id: 'gpt-none', provider: 'refused' },
        { id: 'fallback', provider: 'signed', api: 'messages' },
        { id: 'gpt-short', provider: 'short' },
        { id: 'gemini', provider: 'account' },
        { id: 'claude', provider: 'account', api: 'messages', upstream_model: 'claude-x@20260101' },
        { id: 'federated', provider: 'federation' },
        { id: 'vectors', provider: 'account', upstream_model: 'text-embedding-005' },
        { id: 'vector', provider: 'account', upstream_model: 'gemini-embedding-001' },
        { id: 'signed', provider: 'signed', api: 'messages', upstream_model: 'eu.anthropic.claude-x-v1:0' },
        { id: 'arn', provider: 'signed', api: 'messages', upstream_model: 'arn:aws:bedrock:x:1:profile/y' },
        { id: 'role', provider: 'role', api: 'messages' },
      ],
      embeddings: undefined,
    },
    { UNUSED: 'client secret', ID: keys.id, SECRET: keys.secret },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
  issuer.stop();
  await rm(folder, { recursive: true });
});

const messages = [{ role: 'user', content: 'hi' }];
const chat = (model: string): Promise<Response> => harness.post('/v1/chat/completions', { model, messages });
const ask = (dialect: string, at: string, body: object): Promise<Response> =>
  harness.post(at, body, { headers: { 'x-gatehouse-dialect': dialect, 'anthropic-beta': 'one-1' } });
const askClaude = (model: string, fields: object = {}): Promise<Response> =>
  ask('messages', '/v1/messages', { model, max_tokens: 9, messages, ...fields });
const claudeAnswer = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'Hello.' }], usage: { input_tokens: 10, output_tokens: 4 } },
};
const claudeEvents = [
  { type: 'message_start', message: { ...claudeAnswer, content: [], stop_reason: null } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'Hello.' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } },
  { type: 'message_stop' },
];
const token = (access_token: string, expires_in = 3_600): Script =>
  whole({ access_token, expires_in, token_type: 'Bearer' });
const formOf = ({ body }: ReceivedRequest): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(body.toString()));
const proofs = (): unknown[] => provider.received.map(({ headers }) => headers.authorization);
const first = (from: ScriptedProvider): ReceivedRequest => {
  const [request] = from.received;
  if (request === undefined) throw new Error('nothing was received');
  return request;
};

describe('tokens of Microsoft Entra', () => {
  it('are asked for once by calls at the same time, and again once after a refusal', async () => {
    issuer.answer(token('one'), token('two'));
    provider.answer(...Array.from({ length: 4 }, () => whole(answers['gpt'])));
    const answered = await Promise.all([chat('gpt'), chat('gpt'), chat('gpt')]);
    expect(answered.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(issuer.received.map(({ path: at }) => at)).toEqual(['/contoso/oauth2/v2.0/token']);
    expect(formOf(first(issuer))).toEqual({
      ...{ grant_type: 'client_credentials', client_id: 'gw', client_secret: 'client secret' },
      scope: 'https://cognitiveservices.azure.com/.default',
    });
    expect(proofs()).toEqual(['Bearer one', 'Bearer one', 'Bearer one']);
    expect(first(provider).headers['api-key']).toBeUndefined();

    issuer.answer(token('two'));
    provider.answer(whole({ error: { message: 'expired' } }, 401), whole(answers['gpt']));
    expect((await chat('gpt')).status).toBe(200);
    expect(proofs()).toEqual(['Bearer one', 'Bearer two']);
    provider.answer(whole({}, 401), whole(answers['gpt']));
    const refused = await chat('gpt');
    expect([refused.status, await refused.json()]).toMatchObject([
      502,
      { error: { code: 'provider_authentication' } },
    ]);
    expect(provider.received).toHaveLength(1);
  });

  it('are renewed ahead of their end, by the file as it is then, and used until it if that fails', async () => {
    issuer.answer(token('short', 2));
    provider.answer(...Array.from({ length: 9 }, () => whole(answers['gpt'])));
    await chat('gpt-short');
    expect(formOf(first(issuer))).toMatchObject({ client_assertion: 'first-token' });
    await writeFile(fileOf('rotated.txt'), 'second-token\n');
    issuer.answer(whole({ error: 'temporarily_unavailable' }, 503), token('next'));
    await new Promise((resolve) => setTimeout(resolve, 1_400));
    expect((await chat('gpt-short')).status).toBe(200);
    await eventually(async () => {
      await chat('gpt-short');
      if (proofs().at(-1) !== 'Bearer next') throw new Error('the old token is used');
    });
    expect(new Set(proofs())).toEqual(new Set(['Bearer short', 'Bearer next']));
    expect(issuer.received.map((request) => formOf(request)['client_assertion'])).toEqual([
      'second-token',
      'second-token',
    ]);
  });

  it('that are not granted are 502 without a word of the issuer, or leave the call to a fallback', async () => {
    issuer.answer(whole({ error: 'invalid_client', error_description: 'AADSTS7000215 client secret' }, 401));
    provider.answer(whole(claudeAnswer));
    const fallen = await chat('gpt-refused');
    expect([fallen.status, fallen.headers.get('x-gateway-model')]).toEqual([200, 'fallback']);
    // Within the pause after it the issuer isn't asked again.
    const failed = await chat('gpt-none');
    const text = await failed.text();
    expect([failed.status, JSON.parse(text)]).toMatchObject([
      502,
      { error: { code: 'provider_authentication' } },
    ]);
    expect(text).not.toMatch(/AADSTS|invalid_client|secret/);
    expect(issuer.received).toHaveLength(1);
  });
});

describe('Vertex AI', () => {
  const gemini = {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
  };

  it('is asked for Gemini with a token for the key of a service account', async () => {
    issuer.answer(token('google-token'));
    provider.answer(whole(gemini), streamed([`data: ${JSON.stringify(gemini)}\n\n`]));
    const body = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
    expect((await ask('gemini', '/v1beta/models/gemini:generateContent', body)).status).toBe(200);
    const [head = '', claims = '', signature = ''] = (formOf(first(issuer))['assertion'] ?? '').split('.');
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
      ...{ iss: 'gw@p.iam.gserviceaccount.com', aud: `${issuer.url}/google` },
      scope: 'https://www.googleapis.com/auth/cloud-platform',
    });
    const signed = Buffer.from(`${head}.${claims}`);
    expect(verify('sha256', signed, publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
    const stream = await ask('gemini', '/v1beta/models/gemini:streamGenerateContent?alt=sse', body);
    await stream.text();
    const models = '/v1/projects/my-project/locations/eu/publishers/google/models/gemini';
    expect(provider.received.map(({ path: at }) => at)).toEqual([
      `${models}:generateContent`,
      `${models}:streamGenerateContent?alt=sse`,
    ]);
    expect(proofs()).toEqual(['Bearer google-token', 'Bearer google-token']);
    provider.answer(whole({ totalTokens: 5 }));
    const counted = { generateContentRequest: { model: 'models/gemini', ...body } };
    const count = await ask('gemini', '/v1beta/models/gemini:countTokens', counted);
    expect([count.status, JSON.parse(first(provider).body.toString())]).toEqual([200, body]);
  });

  it('is asked for Claude by rawPredict, and for counts, with version and betas in the body', async () => {
    const frames = claudeEvents.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    provider.answer(whole(claudeAnswer), streamed(frames), whole({ input_tokens: 7 }));
    expect((await askClaude('claude')).status).toBe(200);
    expect(await (await askClaude('claude', { stream: true })).text()).toBe(frames.join(''));
    const counted = await ask('messages', '/v1/messages/count_tokens', { model: 'claude', messages });
    expect(await counted.json()).toEqual({ input_tokens: 7 });
    const models = '/v1/projects/my-project/locations/eu/publishers/anthropic/models';
    expect(provider.received.map(({ path: at }) => at)).toEqual([
      `${models}/claude-x@20260101:rawPredict`,
      `${models}/claude-x@20260101:streamRawPredict`,
      `${models}/count-tokens:rawPredict`,
    ]);
    const added = { anthropic_version: 'vertex-2023-10-16', anthropic_beta: ['one-1'] };
    expect(provider.received.map(({ body }) => JSON.parse(body.toString()) as unknown)).toEqual([
      { max_tokens: 9, messages, ...added },
      { max_tokens: 9, messages, stream: true, ...added },
      { model: 'claude-x@20260101', messages, anthropic_version: added.anthropic_version },
    ]);
  });

  it('is asked for Claude once more without the betas and hints that it refuses, and from then on at once', async () => {
    const refusal = (message: string): Script =>
      whole({ type: 'error', error: { type: 'invalid_request_error', message } }, 400);
    const words =
      'Unexpected value(s) `one-1`, `context-management-2025-06-27` for the `anthropic-beta` header.';
    const context = { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } };
    provider.answer(
      refusal(words),
      refusal('output_config.effort: Extra inputs are not permitted'),
      whole(claudeAnswer),
      whole(claudeAnswer),
    );
    for (let call = 0; call < 2; call += 1) {
      const body = { model: 'claude', max_tokens: 9, messages, ...context, output_config: { effort: 'low' } };
      const answered = await harness.post('/v1/messages', body, {
        principal: { tenantId: '01900000-0000-7000-8000-000000000001' },
        headers: { 'x-gatehouse-dialect': 'messages', 'anthropic-beta': 'one-1' },
      });
      expect([answered.status, answered.headers.get('x-gateway-ignored')]).toEqual([
        200,
        'anthropic-beta.one-1, context_management, output_config.effort',
      ]);
    }
    const sent = provider.received.map(({ body }) => JSON.parse(body.toString()) as object);
    const added = { max_tokens: 9, messages, anthropic_version: 'vertex-2023-10-16' };
    const effort = { output_config: { effort: 'low' } };
    expect(sent).toEqual([
      { ...added, ...context, ...effort, anthropic_beta: ['one-1', 'context-management-2025-06-27'] },
      { ...added, ...effort },
      added,
      added,
    ]);
  });

  it('is asked for vectors by predict, and shows them as the API of the client has them', async () => {
    const predicted: Script = (received) => {
      const { instances } = JSON.parse(received.body.toString()) as { instances: { content: string }[] };
      const predictions = instances.map(({ content }) => ({
        embeddings: { values: [content.length, 0.5], statistics: { token_count: 2, truncated: false } },
      }));
      whole({ predictions })(received);
    };
    const sent = () => provider.received.map(({ body }) => JSON.parse(body.toString()) as unknown);
    provider.answer(predicted, predicted);
    const input = ['a', 'bb', 'ccc', 'dddd', 'größe', 'ffffff'];
    const listed = await harness.post('/v1/embeddings', { model: 'vectors', input, dimensions: 256 });
    expect([listed.status, await listed.json()]).toMatchObject([
      200,
      {
        object: 'list',
        data: input.map(({ length }, index) => ({ index, embedding: [length, 0.5] })),
        usage: { prompt_tokens: 12 },
      },
    ]);
    const parameters = { autoTruncate: false, outputDimensionality: 256 };
    expect(sent()).toEqual([
      { instances: input.slice(0, 5).map((content) => ({ content })), parameters },
      { instances: [{ content: 'ffffff' }], parameters },
    ]);
    expect(first(provider).path).toBe(
      '/v1/projects/my-project/locations/eu/publishers/google/models/text-embedding-005:predict',
    );
    expect(await harness.endedRun(listed.headers.get('x-run-id'))).toMatchObject({ input_tokens: 12 });
    provider.answer(predicted);
    const content = { parts: [{ text: 'one' }, { text: 'two' }] };
    const own = { content, task_type: 'RETRIEVAL_QUERY', outputDimensionality: 3 };
    const one = await ask('gemini', '/v1beta/models/vector:embedContent', own);
    expect([one.status, await one.json()]).toEqual([
      200,
      { embedding: { values: [6, 0.5] }, usageMetadata: { promptTokenCount: 2 } },
    ]);
    expect(sent()).toEqual([
      {
        instances: [{ content: 'onetwo', task_type: 'RETRIEVAL_QUERY' }],
        parameters: { autoTruncate: false, outputDimensionality: 3 },
      },
    ]);
    provider.answer();
    const picture = { content: { parts: [{ inlineData: { mimeType: 'image/png', data: 'QUFB' } }] } };
    const refused = await ask('gemini', '/v1beta/models/vector:embedContent', picture);
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { error: { message: expect.stringContaining('texts alone') } },
    ]);
    expect(provider.received).toHaveLength(0);
    const other = await harness.post('/v1/embeddings', { model: 'gemini', input: 'x' });
    expect(other.status).toBe(400);
  });

  it('has errors of Google in Anthropic’s shape, and those of Claude to the letter', async () => {
    const google = { error: { code: 400, message: 'Bad project.', status: 'FAILED_PRECONDITION' } };
    const own = '{"type":"error", "error":{"type":"invalid_request_error","message":"Invalid signature"}}';
    provider.answer(whole(google, 400), whole(own, 400));
    const translated = await askClaude('claude');
    expect([translated.status, await translated.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: 'Bad project.' } },
    ]);
    expect(await (await askClaude('claude')).text()).toBe(own);
  });

  it('is asked with a token of a workload identity federation', async () => {
    issuer.answer(token('federated-token'));
    provider.answer(whole(gemini));
    const body = { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] };
    expect((await ask('gemini', '/v1beta/models/federated:generateContent', body)).status).toBe(200);
    expect(first(issuer).path).toBe('/sts');
    expect(formOf(first(issuer))).toMatchObject({ subject_token: 'subject-token' });
    expect(proofs()).toEqual(['Bearer federated-token']);
  });
});

describe('signatures for Bedrock', () => {
  it.each([
    ['signed', false, 10],
    ['signed', true, 10],
    ['arn', false, 10],
    ['signed', false, 400_000],
  ])('are those that AWS computes: %s, streamed %s, of %d letters', async (model, stream, letters) => {
    provider.answer(
      stream
        ? awsStream(claudeEvents.map((event) => chunkFrame(JSON.stringify(event))))
        : whole(claudeAnswer),
    );
    const content = 'ö'.repeat(letters);
    const response = await askClaude(model, { stream, messages: [{ role: 'user', content }] });
    await response.text();
    expect(response.status).toBe(200);
    expect(first(provider).headers.authorization).toBe(expectedSignature(first(provider), keys));
  });

  it('are made with the keys of a role, which a token gives', async () => {
    const granted = (id: string): Script => {
      const expiration = new Date(Date.now() + 3_600_000).toISOString();
      return ({ response }) =>
        response
          .writeHead(200, { 'content-type': 'text/xml' })
          .end(
            `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${id}</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
          );
    };
    issuer.answer(granted('ASIA1'), granted('ASIA2'));
    provider.answer(whole({ message: 'expired' }, 403), whole(claudeAnswer));
    expect((await askClaude('role')).status).toBe(200);
    expect(formOf(first(issuer))).toMatchObject({
      ...{ Action: 'AssumeRoleWithWebIdentity', RoleArn: 'arn:aws:iam::123:role/gw' },
      WebIdentityToken: 'second-token',
    });
    const role = { secret: 'role-secret', region: keys.region };
    expect(proofs()).toEqual(
      ['ASIA1', 'ASIA2'].map((id, index) => {
        const request = provider.received[index];
        return request && expectedSignature(request, { ...role, id });
      }),
    );
    expect(first(provider).headers['x-amz-security-token']).toBe('session');
  });
});
