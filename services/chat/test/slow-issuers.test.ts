import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { eventually } from '@gatehouse/test/eventually';
import { ChatHarness } from './chat-harness.ts';
import { ScriptedProvider, whole, type Script } from './scripted-provider.ts';
import { answers } from './translated-answers.ts';

/** Calls of other tenants while an issuer is slow to renew credentials for one refused call. */

/** Providers with credentials of their own. */
const azures = ['azure', 'azure-stream', 'azure-whole', 'azure-refused'];
let provider: ScriptedProvider;
let issuer: ScriptedProvider;
let harness: ChatHarness;
let folder: string;

beforeAll(async () => {
  provider = await ScriptedProvider.start();
  issuer = await ScriptedProvider.start();
  folder = await mkdtemp(path.join(tmpdir(), 'issuers-'));
  const file = path.join(folder, 'token.txt');
  await writeFile(file, 'identity');
  const federation = {
    ...{ type: 'external_account', audience: '//iam.googleapis.com/x', token_url: `${issuer.url}/sts` },
    ...{ subject_token_type: 'urn:ietf:params:oauth:token-type:jwt', credential_source: { file } },
  };
  const federationFile = path.join(folder, 'federation.json');
  await writeFile(federationFile, JSON.stringify(federation));
  const at = { base_url: provider.url, max_retries: 0 };
  const entra = { tenant_id: 'contoso', client_id: 'gw', authority_url: issuer.url, token_file: file };
  const identity = { role_arn: 'arn:aws:iam::123:role/gw', token_file: file, sts_url: issuer.url };
  const price = { input_per_mtok: '1', output_per_mtok: '2' };
  const google = { project: 'p', region: 'eu', credentials_file: federationFile };
  harness = await ChatHarness.start(
    {},
    {
      providers: [
        ...azures.map((name) => ({ ...at, name, kind: 'azure', entra })),
        { ...at, name: 'vertex', kind: 'vertex', ...google },
        ...['bedrock', 'bedrock-2'].map((name) => ({
          ...{ ...at, name, kind: 'bedrock', region: 'eu-central-1', web_identity: identity },
        })),
      ],
      models: [
        ...azures.map((id) => ({ id, provider: id, price })),
        { id: 'vertex', provider: 'vertex', api: 'messages' },
        { id: 'bedrock', provider: 'bedrock', api: 'messages' },
        { id: 'bedrock-2', provider: 'bedrock-2', api: 'messages' },
      ],
      embeddings: undefined,
    },
  );
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
  issuer.stop();
  await rm(folder, { recursive: true });
});

const messages = [{ role: 'user', content: 'hi' }];
/** A call of a tenant that made none before. */
const chat = (model: string): Promise<Response> =>
  harness.post('/v1/chat/completions', { model, max_tokens: 9, messages });
const token = (name: string): Script =>
  whole({ access_token: name, expires_in: 3_600, token_type: 'Bearer', issued_token_type: 'x' });
const awsKeys =
  (name: string): Script =>
  ({ response }) => {
    const expiration = new Date(Date.now() + 3_600_000).toISOString();
    response
      .writeHead(200, { 'content-type': 'text/xml' })
      .end(
        `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${name}</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>session</SessionToken><Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
      );
  };
const claudeAnswer = whole({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-x', stop_reason: 'end_turn' },
  ...{ content: [{ type: 'text', text: 'Hello.' }], usage: { input_tokens: 10, output_tokens: 4 } },
});

describe('a call without credentials', () => {
  const endOf = async (text: string): Promise<object> =>
    eventually(async () => {
      const [run] = await harness.endedRuns(`data::json ->> 'input_preview' = $1`, [text]);
      if (run === undefined) throw new Error('the run has not ended');
      return run;
    });
  const free = { input_tokens: 0, output_tokens: 0, usage_estimated: false, cost_pico: '0' };

  it.each(['azure-stream', 'azure-whole'])(
    'costs nothing if its client leaves meanwhile: %s',
    async (model) => {
      provider.answer();
      const asked = Promise.withResolvers<undefined>();
      issuer.answer(() => {
        asked.resolve(undefined);
      });
      const text = newId();
      const leaving = new AbortController();
      const thinking = { stream: model === 'azure-stream', thinking_budget: 9_000 };
      const body = { model, ...thinking, messages: [{ role: 'user', content: text }] };
      const response = harness.post('/v1/chat/completions', body, { signal: leaving.signal });
      await asked.promise;
      leaving.abort();
      await expect(response).rejects.toThrow();
      expect(await endOf(text)).toMatchObject({ status: 'cancelled', ...free });
      expect(provider.received).toEqual([]);
    },
  );

  it('costs nothing if the issuer refuses it', async () => {
    provider.answer();
    issuer.answer(whole({ error: 'invalid_client' }, 400));
    const text = newId();
    const body = { model: 'azure-refused', messages: [{ role: 'user', content: text }] };
    expect((await harness.post('/v1/chat/completions', body)).status).toBe(502);
    expect(await endOf(text)).toMatchObject({ status: 'error', ...free });
  });
});

describe('credentials that a provider refuses to one tenant', () => {
  it.each<[string, number, (name: string) => Script, Script]>([
    ['azure', 401, token, whole(answers['gpt'])],
    ['vertex', 401, token, claudeAnswer],
    ['bedrock', 401, awsKeys, claudeAnswer],
    ['bedrock-2', 403, awsKeys, claudeAnswer],
  ])('serve others at %s while the issuer is asked after a %d', async (model, status, grant, answer) => {
    issuer.answer(grant('FIRST'));
    provider.answer(answer, whole({ error: { message: 'no' } }, status), answer, answer);
    const proofs = (): boolean[] =>
      provider.received.map(({ headers }) => headers.authorization?.includes('FIRST') ?? false);
    expect((await chat(model)).status).toBe(200);

    const asked = Promise.withResolvers<() => unknown>();
    issuer.answer((request) => asked.resolve(() => grant('SECOND')(request)));
    const refused = chat(model);
    const answerNow = await asked.promise;
    expect((await chat(model)).status).toBe(200);
    expect(proofs()).toEqual([true, true, true]);
    answerNow();
    expect((await refused).status).toBe(200);
    expect(proofs()).toEqual([true, true, true, false]);
    expect(issuer.received).toHaveLength(1);
  });

  it('are asked for no more by refusals soon after', async () => {
    issuer.answer();
    const refusal = whole({ error: { message: 'no' } }, 401);
    provider.answer(refusal, refusal, whole(answers['gpt']));
    for (const expected of [502, 502, 200]) expect((await chat('azure')).status).toBe(expected);
    expect(provider.received).toHaveLength(3);
    expect(issuer.received).toEqual([]);
  });
});
