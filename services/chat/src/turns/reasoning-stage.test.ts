import { createLogger } from '@gatehouse/kit/log';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { describe, expect, it } from '@jest/globals';
import { Admission } from '../limits/admission.ts';
import { Catalogue } from '../catalogue/catalogue.ts';
import { modelTarget } from '../catalogue/target.ts';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { reasoningStage } from './reasoning-stage.ts';
import { turnContext } from './turn-stage.ts';

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
  ...{ tenantId: 't', userId: 'ann', apiKeyId: null },
  ...{ requestId: 'r', trace: continueTrace(undefined) },
};
const call = { id: 'call_a', type: 'function', function: { name: 'f', arguments: '{}' } };
const calls = [{ role: 'assistant', tool_calls: [call] }];
const text = [{ role: 'user', content: 'hi' }];

/** The ids of calls that are looked up for a turn, and the bytes that it is charged for. */
async function lookedUp(model: string, messages: object[], name: ApiName = 'chat'): Promise<unknown[]> {
  const found: unknown[] = [];
  const body = { model, messages, max_tokens: 1 };
  const facts = dialects[name].readRequest('chat', Buffer.from(JSON.stringify(body)), body);
  const stage = reasoningStage({
    thoughts: {
      find: (ids) => {
        found.push(ids);
        return Promise.resolve({ thoughts: new Map(), bytes: 7 });
      },
      keep: () => Promise.resolve(),
    },
    log: createLogger('test', 'silent'),
  });
  const settings = { allowedModels: null, previewChars: 0, retentionDays: 30, limited: [], keyLimited: [] };
  const turn = turnContext(
    {
      ...{ dialect: dialects[name], target: modelTarget(catalogue, model, null), actor, channel: 'api' },
      source: facts.source({ release: () => undefined }),
      settings: { ...settings, unleasedRequests: 0n, ownKeys: [] },
      ...{ arrivedAt: 0, admission: new Admission(), signal: new AbortController().signal },
    },
    facts,
  );
  await stage.prepare?.(turn, { facts, text: null, share: { grow: (bytes) => found.push(bytes) } });
  return found;
}

describe('the reasoning stage', () => {
  it.each(['thinks', 'falls-back'])(
    'are looked up once for calls of tools and the model %s',
    async (model) => {
      expect(await lookedUp(model, calls)).toEqual([['call_a'], 7]);
    },
  );

  it('are looked up neither without calls of tools, nor where no model has any', async () => {
    expect(await lookedUp('thinks', text)).toEqual([]);
    expect(await lookedUp('plain', calls)).toEqual([]);
    expect(await lookedUp('same-api', calls)).toEqual([]);
  });

  it('are looked up for no client that has a place for them', async () => {
    const content = [{ type: 'tool_use', id: 'a', name: 'f', input: {} }];
    expect(await lookedUp('same-api', [...text, { role: 'assistant', content }], 'messages')).toEqual([]);
  });
});
