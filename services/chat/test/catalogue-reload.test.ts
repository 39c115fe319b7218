import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger } from '@gatehouse/kit/log';
import { eventually } from '@gatehouse/test/eventually';
import { startProviderSimulator, type ProviderSimulator } from '@gatehouse/test/provider-simulator/simulator';
import { chat, ChatHarness } from './chat-harness.ts';

const lines: { msg: string; problems?: string[]; count?: number; variables?: string[] }[] = [];
const log = createLogger('chat', 'info', {
  write: (line) => void lines.push(JSON.parse(line) as (typeof lines)[number]),
});

let harness: ChatHarness;
let other: ProviderSimulator;
let first: Document;
beforeAll(async () => {
  harness = await ChatHarness.start({ log, catalogueEveryMs: 100 }, {}, { OTHER: 'other-key' });
  other = await startProviderSimulator({ apiKey: 'other-key' });
  first = JSON.parse(await readFile(harness.modelsFile, 'utf8')) as Document;
});
afterAll(async () => {
  await other.close();
  await harness.stop();
});

interface Document {
  providers: Record<string, unknown>[];
  models: Record<string, unknown>[];
}

/** The first catalogue with more models. */
function withModels(...models: Record<string, unknown>[]): Document {
  return { ...first, models: [...first.models, ...models] };
}

const write = (document: unknown): Promise<void> => writeFile(harness.modelsFile, JSON.stringify(document));
const ask = (model: string, fields: object = {}): Promise<Response> =>
  harness.post('/v1/chat/completions', chat('hi', { model, ...fields }));
const statusOf = async (model: string): Promise<number> => (await harness.get(`/v1/models/${model}`)).status;
const isThere = (model: string, status = 200): Promise<void> =>
  eventually(async () => expect(await statusOf(model)).toBe(status));
const failuresIn = async (): Promise<number> => {
  const line = (await harness.metrics()).split('\n').find((text) => text.startsWith(failures));
  return Number(line?.split(' ').at(-1));
};
const failures = 'gatehouse_catalogue_reload_failures_total';
const failed = 'failed to read the model catalogue again, the one before stays in use';
const reported = () => lines.filter(({ msg }) => msg === failed);

/** Asks all the time until `work` is over. Returns every status. */
async function underLoad(work: () => Promise<void>): Promise<number[]> {
  const statuses: number[] = [];
  let isOver = false;
  const client = async (): Promise<void> => {
    while (!isOver) {
      const response = await ask('small');
      await response.arrayBuffer();
      statuses.push(response.status);
    }
  };
  const clients = Promise.all(Array.from({ length: 4 }, client));
  await work().finally(() => {
    isOver = true;
  });
  await clients;
  return statuses;
}

it('a change is used while requests go on, and a stream under way ends where it began', async () => {
  const gone = { name: 'gone', kind: 'openai', base_url: other.baseUrl, api_key_env: 'OTHER' };
  const before = withModels(
    { id: 'going', provider: 'gone', fallbacks: ['spare'] },
    { id: 'spare', provider: 'gone' },
  );
  await write({ ...before, providers: [...first.providers, gone] });
  await isThere('going');
  await (await ask('going')).arrayBuffer();
  expect(await harness.metrics()).toMatch(/breaker_open\{provider="gone",model="going".*\} 0\n/);
  const stream = await ask('going', {
    stream: true,
    x_simulator: { content: 'one two three four five six', chunk_delay_ms: 300 },
  });
  expect(stream.status).toBe(200);
  // Its provider fails once the provider has left, and its fallback is at the same one.
  const late = ask('going', { x_simulator: { models: { going: { delay_ms: 1_500, status: 500 } } } });
  const statuses = await underLoad(async () => {
    await write(withModels({ id: 'new', provider: 'simulator', aliases: ['newer'] }));
    await isThere('newer');
    expect(await statusOf('going')).toBe(404);
  });
  expect(statuses.length).toBeGreaterThan(4);
  expect(new Set(statuses)).toEqual(new Set([200]));
  const text = await stream.text();
  expect(text).toContain('six');
  expect(text).toContain('[DONE]');
  const answered = await late;
  expect([answered.status, answered.headers.get('x-gateway-model')]).toEqual([200, 'spare']);
  const run = await harness.endedRun(stream.headers.get('x-run-id'));
  expect(run).toMatchObject({ status: 'ok', model: 'going', provider: 'gone' });
  const metrics = await harness.metrics();
  expect(metrics).toContain('deployment_calls_total{provider="simulator",model="small",outcome="ok"');
  expect(metrics).toContain('gatehouse_provider_requests_total{provider="simulator",outcome="ok"');
  expect(metrics).not.toContain('breaker_open{provider="gone"');
});

it('a wrong change leaves the catalogue as it is, and is named in log, metric and event, once', async () => {
  await write(withModels({ id: 'good', provider: 'simulator' }));
  await isThere('good');
  const [counted, linesBefore] = [await failuresIn(), reported().length];
  const wrong = withModels(
    { id: 'a', provider: 'missing' },
    { id: 'b', provider: 'simulator', fallbacks: ['c'] },
  );
  const statuses = await underLoad(async () => {
    await write(wrong);
    await eventually(async () => expect(await failuresIn()).toBe(counted + 1));
    // Some more readings of the same content.
    await new Promise((resolve) => setTimeout(resolve, 500));
  });
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect([await statusOf('good'), await failuresIn()]).toEqual([200, counted + 1]);
  const problems = ['model a: there is no provider missing', 'model b: there is no fallback model c'].map(
    (problem) => `${harness.modelsFile}:1: ${problem}`,
  );
  expect(reported().slice(linesBefore)).toMatchObject([{ problems, count: 2 }]);
  const event = await eventually(() => {
    const found = harness.alertsOf(null, 'catalogue.invalid').find(({ data }) => data['problem_count'] === 2);
    if (found === undefined) throw new Error('no event yet');
    return found;
  });
  expect(event.data).toEqual({ digest: expect.any(String), problems, problem_count: 2 });
  await write(withModels({ id: 'mended', provider: 'simulator' }));
  await isThere('mended');
});

describe('a file', () => {
  it('that is half written is not used before it is whole', async () => {
    const whole = JSON.stringify(withModels({ id: 'whole', provider: 'simulator' }));
    const pieces = 20;
    const statuses = await underLoad(async () => {
      for (let piece = 0; piece <= pieces; piece += 1) {
        await writeFile(harness.modelsFile, whole.slice(0, (whole.length * piece) / pieces));
        await new Promise((resolve) => setTimeout(resolve, 30));
      }
      await isThere('whole');
    });
    expect(new Set(statuses)).toEqual(new Set([200]));
  });

  it('that has vanished is reported, and used when it is back', async () => {
    const before = reported().length;
    const aside = `${harness.modelsFile}.aside`;
    await rename(harness.modelsFile, aside);
    await eventually(() => expect(reported().length).toBe(before + 1));
    expect(reported().at(-1)?.problems).toEqual([`${harness.modelsFile} can't be read: ENOENT`]);
    expect(await statusOf('whole')).toBe(200);
    await writeFile(aside, JSON.stringify(withModels({ id: 'back', provider: 'simulator' })));
    await rename(aside, harness.modelsFile);
    await isThere('back');
  });

  it('that is no YAML is reported without its text', async () => {
    const before = reported().length;
    await writeFile(harness.modelsFile, 'models:\n  - {id: "s3cr3t"\nproviders: s3cr3t');
    await eventually(() => expect(reported().length).toBe(before + 1));
    expect(reported().at(-1)?.problems?.join()).toMatch(/is not valid YAML: .* at line \d+, column \d+$/);
    expect(JSON.stringify(reported())).not.toContain('s3cr3t');
  });

  it('behind the links of a ConfigMap is used when Kubernetes leads them elsewhere', async () => {
    const folder = path.dirname(harness.modelsFile);
    const put = async (version: string, model: string): Promise<void> => {
      await mkdir(path.join(folder, version));
      const text = JSON.stringify(withModels({ id: model, provider: 'simulator' }));
      await writeFile(path.join(folder, version, 'models.yaml'), text);
      await symlink(version, path.join(folder, '..data_tmp'));
      await rename(path.join(folder, '..data_tmp'), path.join(folder, '..data'));
    };
    await put('..2026_1', 'linked');
    await rm(harness.modelsFile);
    await symlink('..data/models.yaml', harness.modelsFile);
    await isThere('linked');
    const statuses = await underLoad(async () => {
      await put('..2026_2', 'relinked');
      await rm(path.join(folder, '..2026_1'), { recursive: true });
      await isThere('relinked');
    });
    expect(new Set(statuses)).toEqual(new Set([200]));
    expect(await statusOf('linked')).toBe(404);
  });
});

it('keeps connections and breakers of a provider that has not changed', async () => {
  await write(first);
  await isThere('relinked', 404);
  for (let call = 0; call < 12; call += 1) await (await ask('refusing')).arrayBuffer();
  const isOpen = async (): Promise<boolean> =>
    (await harness.metrics())
      .split('\n')
      .some(
        (line) => line.includes('breaker_open{') && line.includes('model="refusing"') && line.endsWith(' 1'),
      );
  await eventually(async () => expect(await isOpen()).toBe(true));
  await write(withModels({ id: 'one-more', provider: 'simulator' }));
  await isThere('one-more');
  expect(await isOpen()).toBe(true);
  const changed = first.providers.map((provider) => ({
    ...provider,
    ...(provider['name'] === 'refusing' && { timeout_ms: 1_000 }),
  }));
  await write({ ...withModels({ id: 'two-more', provider: 'simulator' }), providers: changed });
  await isThere('two-more');
  expect(await isOpen()).toBe(false);
});

describe('an environment variable that is not set', () => {
  it('keeps a changed catalogue that names it from being used', async () => {
    const [counted, linesBefore] = [await failuresIn(), reported().length];
    const keyed = { ...first.providers[0], name: 'keyless', api_key_env: 'NOT_SET' };
    const changed = withModels({ id: 'keyless', provider: 'keyless' });
    await write({ ...changed, providers: [...first.providers, keyed] });
    await eventually(async () => expect(await failuresIn()).toBe(counted + 1));
    expect(await statusOf('keyless')).toBe(404);
    const problems = ['the environment variable NOT_SET is not set: set it and restart chat'];
    expect(reported().slice(linesBefore)).toMatchObject([{ problems }]);
  });

  it('is named in the log of a start, and keeps no later change from being used', async () => {
    await harness.startReplica({ log, catalogueEveryMs: 100 }, { api_key_env: 'NOT_SET' });
    const said = lines.filter(
      ({ msg }) => msg === 'the model catalogue names environment variables that are not set',
    );
    expect(said).toMatchObject([{ variables: ['NOT_SET'] }]);
    const read = () => lines.filter(({ msg }) => msg === 'read the model catalogue again').length;
    const before = read();
    const started = JSON.parse(await readFile(harness.modelsFile, 'utf8')) as Document;
    await write({ ...started, models: [...started.models, { id: 'later', provider: 'simulator' }] });
    await eventually(() => expect(read()).toBe(before + 1));
  });
});
