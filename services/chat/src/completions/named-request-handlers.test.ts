import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { AppError } from '@gatehouse/kit/errors';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { Catalogue, deploymentsOf } from '../catalogue/catalogue.ts';
import { weightedOrder } from '../providers/choice.ts';
import { LargeWork } from '../shared/large-work.ts';
import { StoredResponses } from '../stored-responses/stored-response-store.ts';
import { readNamed, type ReaderDependencies, type RequestBody } from './named-request-handlers.ts';
import { keySettings } from '../../test/key-settings.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const large = 2 * 1024 * 1024;
const regions = ['north', 'east', 'south', 'west'];
const catalogue = Catalogue.parse({
  providers: ['openai', ...regions].map((name) => ({
    name,
    kind: 'openai',
    base_url: 'http://127.0.0.1:1',
  })),
  models: [
    { id: 'm', provider: 'openai', api: 'responses' },
    { id: 'divided', deployments: regions.map((provider) => ({ provider })), api: 'responses' },
  ],
});
const providers: Pick<ReaderDependencies['providers'], 'deploymentOrder'> = {
  deploymentOrder: (model, affinity) => {
    const members = deploymentsOf(model).map((deployment) => ({
      ...{ deployment, name: deployment.provider.name, weight: deployment.weight },
    }));
    return weightedOrder(members, affinity).map(({ deployment }) => deployment);
  },
};
const actor = {
  ...{
    tenantId: 't',
    userId: 'ann',
    apiKeyId: null,
    groups: [],
    sees: '',
    proofFor: () => Promise.resolve(''),
  },
  ...{ requestId: 'r', trace: continueTrace(undefined) },
};

const settings = keySettings();

/** Reads a request for a client. The reader uses these methods of the stores and clients. */
function readWith(
  responses: object,
  fields: object,
  grow: (bytes: number) => void = () => undefined,
  parse: RequestBody['parse'] = (text, parsed) => dialects.responses.readRequest('chat', text, parsed),
): ReturnType<typeof readNamed> {
  const dependencies = { catalogue, responses, providers };
  const release = (): void => undefined;
  const input: RequestBody = {
    ...{ dialect: dialects.responses, body: Buffer.from(JSON.stringify(fields)), actor, sessionId: null },
    share: { release, grow, part: () => ({ release, grow }) },
    parse,
    ...{ settings, isAnswered: true, signal: new AbortController().signal },
  };
  return readNamed(dependencies as unknown as ReaderDependencies, input);
}

/** Resolves once another tenant's large request has had its turn. */
const othersTurn = (): Promise<void> =>
  LargeWork.during({ tenantId: 'another', bytes: large }, () => Promise.resolve());

it('looks up all names of a request before it takes the turn of large ones, also for a small body', async () => {
  const steps: string[] = [];
  const row = { id: 'one', provider: 'openai', bytes: large };
  const fields = {
    ...{ model: 'm', store: false, previous_response_id: 'resp_1' },
    input: [{ type: 'item_reference', id: 'msg_1' }],
  };
  const responses = {
    chain: () => othersTurn().then(() => (steps.push('chain'), [{ ...row, previous_id: null }])),
    holders: () => othersTurn().then(() => (steps.push('holders'), new Map([[row, new Set(['msg_1'])]]))),
    items: () => {
      // Other large requests wait for this one now.
      const waiting = othersTurn().then(() => steps.push('other'));
      steps.push(`items, ${LargeWork.waiting} waits`);
      void waiting;
      const text = Buffer.from('{"role":"user","content":"one"}');
      return Promise.resolve(new Map([['msg_1', { text, summary: null }]]));
    },
    conversation: () => Promise.resolve([Buffer.from('{"role":"user","content":"earlier"}')]),
  };
  let charged = 0;
  const read = await readWith(responses, fields, (bytes) => (charged += bytes));
  await othersTurn();
  expect(steps.slice(0, 2).toSorted()).toEqual(['chain', 'holders']);
  expect(steps.slice(2)).toEqual(['items, 1 waits', 'other']);
  expect(JSON.parse(read.text.toString())).toMatchObject({
    previous_response_id: null,
    input: [{ content: 'earlier' }, { content: 'one' }],
  });
  expect(charged).toBeGreaterThan(0);
});

it.each<[string, object, string]>([
  ['a conversation of more than 20 MiB', { previous_response_id: 'resp_1', input: 'x' }, 'payload_too_large'],
  [
    'a conversation with a gap',
    { previous_response_id: 'resp_gap', input: 'x' },
    'previous_response_not_found',
  ],
  ['items of more than 20 MiB', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 'payload_too_large'],
])('refuses %s while another large request has its turn', async (_name, fields, code) => {
  const row = { id: 'one', provider: 'openai', bytes: 30 * 1024 * 1024 };
  // Refused before the database is asked for contents.
  const store = new StoredResponses({ pool: undefined as never, keyRing: undefined as never });
  const responses = Object.assign(store, {
    chain: (id: string) => Promise.resolve([{ ...row, previous_id: id === 'resp_gap' ? 'gone' : null }]),
    holders: () => Promise.resolve(new Map([[row, new Set(['msg_1'])]])),
  });
  const turn = new LargeWork('another');
  await turn.begin(large);
  try {
    await expect(readWith(responses, { model: 'm', ...fields })).rejects.toMatchObject({ code });
  } finally {
    turn.end();
  }
});

it('refuses an unknown model before it looks up names', async () => {
  const away = (): Promise<never> => Promise.reject(new AppError('database_unavailable', 'away'));
  const fields = {
    ...{ model: 'unknown', previous_response_id: 'resp_1' },
    input: [{ type: 'item_reference', id: 'msg_1' }],
  };
  await expect(readWith({ chain: away, holders: away }, fields)).rejects.toMatchObject({
    code: 'model_not_found',
  });
});

it('orders deployments by the whole of a continued conversation, from the provider of its last response', async () => {
  const earlier = { role: 'user', content: 'earlier' };
  const orderOf = async (responses: object, fields: object): Promise<string[]> => {
    const { target } = await readWith(responses, { model: 'divided', store: false, ...fields });
    return target.chain.map(({ provider }) => provider.name);
  };
  const whole = await orderOf({}, { input: [earlier] });
  // The last one, which the affinity alone would not call first.
  const provider = whole.at(-1) ?? '';
  const responses = {
    chain: () => Promise.resolve([{ id: 'one', provider, bytes: 10, previous_id: null }]),
    conversation: () => Promise.resolve([Buffer.from(JSON.stringify(earlier))]),
  };
  for (let n = 0; n < 8; n += 1) {
    const fields = { previous_response_id: 'resp_1', input: `question ${n}` };
    expect(await orderOf(responses, fields)).toEqual([provider, ...whole.slice(0, -1)]);
  }
});

it.each([1, 100_000])('keeps no values of a request of %d characters, but its prompt', async (chars) => {
  const requests: WeakRef<object>[] = [];
  const parse: RequestBody['parse'] = (text, value) => {
    const request = dialects.responses.readRequest('chat', text, value);
    requests.push(new WeakRef(request), new WeakRef(value as object));
    return request;
  };
  const { facts } = await readWith(
    {},
    { model: 'm', input: 'x'.repeat(chars), store: false },
    undefined,
    parse,
  );
  await new Promise(setImmediate);
  collect();
  expect(requests.map((request) => request.deref())).toEqual([undefined, undefined]);
  expect(facts.promptSample()).toMatchObject({ chars });
});
