import { expect, it } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { Catalogue } from '../catalogue/catalogue.ts';
import type { Model } from '../catalogue/catalogue.ts';
import { LargeWork } from '../shared/large-work.ts';
import { StoredResponses } from '../stored-responses/stored-response-store.ts';
import { readNamed, type ReaderDependencies, type RequestBody } from './named-request-handlers.ts';

const large = 2 * 1024 * 1024;
const catalogue = Catalogue.parse({
  providers: [{ name: 'openai', kind: 'openai', base_url: 'http://127.0.0.1:1' }],
  models: [{ id: 'm', provider: 'openai', api: 'responses' }],
});
const actor = {
  ...{ tenantId: 't', userId: 'ann', apiKeyId: null, sees: '', proofFor: () => Promise.resolve('') },
  ...{ requestId: 'r', trace: continueTrace(undefined) },
};

const settings = {
  ...{ allowedModels: null, previewChars: 0, retentionDays: 30, limited: [] },
  ...{ ownKeys: [], unleasedRequests: 0n },
};

/** Reads a request for a client. The reader uses these methods of the stores and clients. */
function readWith(
  responses: object,
  fields: object,
  grow: (bytes: number) => void = () => undefined,
): ReturnType<typeof readNamed> {
  const dependencies = { catalogue, responses, providers: { deploymentOrder: (model: Model) => [model] } };
  const input: RequestBody = {
    ...{ dialect: dialects.responses, body: Buffer.from(JSON.stringify(fields)), actor, sessionId: null },
    share: { release: () => undefined, grow },
    parse: (text, parsed) => dialects.responses.readRequest('chat', text, parsed),
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
