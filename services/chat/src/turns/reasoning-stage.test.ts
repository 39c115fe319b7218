import { createLogger } from '@gatehouse/kit/log';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { describe, expect, it } from '@jest/globals';
import { Admission } from '../limits/admission.ts';
import { Catalogue } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import type { SignedReasoning } from '@gatehouse/dialects/translation/signed-reasoning';
import { mostTokens } from '../limits/upper-bounds.ts';
import { reasoningStage } from './reasoning-stage.ts';
import { turnContext, type StartedTurn, type TurnContext } from './turn-stage.ts';
import { keySettings } from '../../test/key-settings.ts';

const catalogue = Catalogue.parse({
  providers: [
    { name: 'anthropic', kind: 'anthropic', base_url: 'http://127.0.0.1:1' },
    { name: 'openai', kind: 'openai', base_url: 'http://127.0.0.1:1' },
  ],
  models: [
    { id: 'thinks', provider: 'anthropic' },
    { id: 'plain', provider: 'anthropic', reasoning: false },
    { id: 'same-api', provider: 'openai' },
    { id: 'falls-back', provider: 'openai', fallbacks: ['thinks'] },
  ],
});
const actor = {
  groups: [],
  ...{ tenantId: 't', userId: 'ann', apiKeyId: null },
  ...{ requestId: 'r', trace: continueTrace(undefined) },
};
const call = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' } };
const calls = [{ role: 'assistant', tool_calls: [call] }];
const text = [{ role: 'user', content: 'hi' }];

interface StageRequest {
  model: string;
  messages: object[];
  name?: ApiName;
  /** Null for a request of another service. */
  client?: TurnContext['client'];
  known?: Map<string, readonly SignedReasoning[]>;
}

/**
 * The ids of calls that are looked up for a turn, the bytes that it is charged for, and last whether the stage stores
 * reasoning of its answer.
 */
async function lookedUp(request: StageRequest): Promise<unknown[]> {
  const { found, keeps } = await prepared(request);
  return [...found, keeps];
}

async function prepared({
  model,
  messages,
  name = 'chat',
  client = { dialect: name, name: 'other' },
  known = new Map(),
}: StageRequest): Promise<{ found: unknown[]; keeps: boolean; turn: TurnContext }> {
  const found: unknown[] = [];
  const body = { model, messages, max_tokens: 1 };
  const facts = dialects[name].readRequest('chat', Buffer.from(JSON.stringify(body)), body);
  const stage = reasoningStage({
    thoughts: {
      find: (ids) => {
        found.push(ids);
        return Promise.resolve({ thoughts: known, bytes: 7 });
      },
      keep: () => Promise.resolve(),
    },
    log: createLogger('test', 'silent'),
  });
  const ending = new AbortController();
  const turn = turnContext(
    {
      ...{
        dialect: dialects[name],
        target: modelTarget(catalogue, model, null),
        actor,
        channel: 'api',
        client,
      },
      source: facts.source({ release: () => undefined }),
      settings: keySettings(),

      ...{ arrivedAt: 0, admission: new Admission(), ending, signal: ending.signal },
    },
    facts,
  );
  await stage.prepare?.(turn, {
    facts,
    parts: null,
    text: null,
    sent: Buffer.from(JSON.stringify(body)),
    share: { grow: (bytes) => found.push(bytes) },
    reread: () => Promise.reject(new Error('no text is read again')),
  });
  // The stage reads the run once the answer is whole.
  const answer = stage.answer?.(turn as StartedTurn) ?? null;
  return { found, keeps: answer !== null, turn };
}

describe('the reasoning stage', () => {
  it.each(['thinks', 'falls-back'])(
    'looks reasoning up once for calls of tools and the model %s',
    async (model) => {
      expect(await lookedUp({ model, messages: calls })).toEqual([['call_a'], 7, true]);
    },
  );

  it('counts the bytes of reasoning in front of each call', async () => {
    const signature = { origin: 'anthropic', text: 'sig', isRedacted: false } as const;
    const known = new Map([['call_a', [{ text: 'Hm…', signature, isFirst: true }]]]);
    const messages = [...calls, ...calls];
    const { turn } = await prepared({ model: 'thinks', messages, known });
    expect(turn.thoughtBytes).toBe(2 * Buffer.byteLength('Hm…sig'));
    const facts = dialects.chat.readRequest('chat', Buffer.from('{}'), { model: 'thinks', messages });
    const [plain] = mostTokens(facts, turn.target);
    const [added] = mostTokens(facts, turn.target, {}, { thoughtBytes: turn.thoughtBytes });
    expect((added?.input ?? 0) - (plain?.input ?? 0)).toBe(turn.thoughtBytes);
  });

  it('looks none up without calls of tools, nor where no model reasons', async () => {
    expect(await lookedUp({ model: 'thinks', messages: text })).toEqual([true]);
    expect(await lookedUp({ model: 'plain', messages: calls })).toEqual([false]);
    expect(await lookedUp({ model: 'same-api', messages: calls })).toEqual([false]);
  });

  it('looks none up for a client whose API has a place for reasoning', async () => {
    const content = [{ type: 'tool_use', id: 'a', name: 'f', input: {} }];
    const messages = [...text, { role: 'assistant', content }];
    expect(await lookedUp({ model: 'same-api', messages, name: 'messages' })).toEqual([false]);
  });

  it('are neither looked up nor stored for another service', async () => {
    expect(await lookedUp({ model: 'thinks', messages: calls, client: null })).toEqual([false]);
  });
});
