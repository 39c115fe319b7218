import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { eventually } from '@gatehouse/test/eventually';
import type { ChatHarness } from './chat-harness.ts';
import { guardedUser } from './guarding.ts';
import { apis } from './guarded-apis.ts';
import { refusedEntries } from './refused-entries.ts';
import { ScriptedProvider } from './scripted-provider.ts';
import { translatingHarness } from './translating-harness.ts';

/** Refusals by guardrails: when they are decided, and where they are recorded. */

const mail = 'Write to ann.lee@gmail.com, please.';
const { chat } = apis;

let provider: ScriptedProvider;
let harness: ChatHarness;
beforeAll(async () => {
  provider = await ScriptedProvider.start();
  harness = await translatingHarness(provider, [{ id: 'small', provider: 'simulator', reasoning: false }]);
});
beforeEach(() => {
  provider.answer();
  harness.takesEvents = true;
});
afterAll(async () => {
  await harness.stop();
  provider.stop();
});

const ask = (body: object, principal: { tenantId: string; userId: string }): Promise<Response> =>
  harness.post('/v1/chat/completions', { model: 'small', ...body }, { principal });

it('a blocked request is refused, with the findings of its guardrails', async () => {
  const principal = guardedUser(harness, {}, { action: 'flag' });
  const body = { ...chat?.tools('Hi.'), ...chat?.body(`${mail} ${mail}`) };
  expect((await ask(body, principal)).status).toBe(400);
  await eventually(() =>
    expect(refusedEntries(harness, principal.tenantId)).toMatchObject([
      {
        ...{ code: 'content_blocked', channel: 'api', dialect: 'chat', count: 1 },
        details: [
          {
            guardrails: [
              { name: 'pii', on: 'user', outcome: 'blocked', types: { email: 2 }, cost_pico: '0' },
              { name: 'pii', on: 'user', outcome: 'flagged', types: { email: 2 } },
              { name: 'pii', on: 'system', outcome: 'passed', types: {} },
            ],
          },
        ],
      },
    ]),
  );
});
