import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { newId } from '@gatehouse/kit/ids';
import { Resource } from '@gatehouse/proto/tenant/v1/tenant';
import { eventually } from '@gatehouse/test/eventually';
import { makeAgent, type ChatHarness } from './chat-harness.ts';
import { guardedUser } from './guarding.ts';
import { apis, chatAnswer } from './guarded-apis.ts';
import { refusedEntries } from './refused-entries.ts';
import { ScriptedProvider, whole } from './scripted-provider.ts';
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

/** Checks that can't be applied: one that can't be asked, and one that can't be compiled. */
const uncompiled = {
  type: 'patterns' as const,
  ...{ patterns: [{ name: 'A', regex: '(', case_sensitive: true }], words: [] },
};
const webhook = {
  type: 'webhook' as const,
  url: 'https://guard.example.com',
  ...{ auth: { type: 'none' as const }, params: {} },
};

const unapplied = [webhook, uncompiled].flatMap((check) =>
  (['closed', 'open'] as const).map((onError) => ({ check, onError })),
);

it.each(unapplied)(
  'a check that cannot be applied raises an event, once a minute and guardrail: $check.type, $onError',
  async ({ check, onError }) => {
    const principal = guardedUser(harness, { check, on_error: onError });
    provider.answer(whole(chatAnswer), whole(chatAnswer));
    const status = onError === 'open' ? 200 : 503;
    for (let sent = 0; sent < 2; sent += 1)
      expect((await ask(chat?.body('Hi.') ?? {}, principal)).status).toBe(status);
    await harness.flushAlerts();
    await eventually(() =>
      expect(harness.alertsOf(principal.tenantId, 'guardrail.failing')).toMatchObject([
        { data: { guardrail: check.type, on_error: onError } },
      ]),
    );
  },
);

/** Texts in which guardrails have blocked something so far. */
async function blockedTexts(): Promise<number> {
  const lines = (await harness.metrics()).match(
    /^gatehouse_guardrail_findings_total\{.*"blocked".*\} \d+$/gm,
  );
  return (lines ?? []).reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}

it('nothing is counted for a request over a limit, and a check that cannot be applied is no reason either', async () => {
  for (const fields of [{}, { check: webhook }, { check: uncompiled }]) {
    const principal = guardedUser(harness, fields);
    const { guardrails = [] } = harness.settings.get(principal.tenantId) ?? {};
    harness.settings.set(principal.tenantId, { guardrails, limited: [Resource.TOKENS] });
    harness.usedUp.add(principal.tenantId);
    const before = await blockedTexts();
    const response = await ask(chat?.body(mail) ?? {}, principal);
    expect([response.status, await response.json()]).toMatchObject([
      429,
      { error: { code: 'rate_limit_exceeded' } },
    ]);
    expect(await blockedTexts()).toBe(before);
    await harness.flushAlerts();
    for (const type of ['guardrail.blocked', 'guardrail.failing'] as const)
      expect(harness.alertsOf(principal.tenantId, type)).toEqual([]);
    await eventually(() => expect(refusedEntries(harness, principal.tenantId)).toHaveLength(1));
    const [entry] = refusedEntries(harness, principal.tenantId);
    expect(entry).toMatchObject({ code: 'rate_limit_exceeded', details: [{}] });
    expect(entry?.details[0]).not.toHaveProperty('guardrails');
    harness.usedUp.delete(principal.tenantId);
  }
  const before = await blockedTexts();
  expect((await ask(chat?.body(mail) ?? {}, guardedUser(harness, {}))).status).toBe(400);
  expect(await blockedTexts()).toBe(before + 1);
});

it('a blocked message of a channel is a refused request, with its channel and session', async () => {
  const webhook = await harness.peer('webhook');
  const signer = await harness.identity.signer('webhook');
  const agent = makeAgent({ key: 'answers', model: 'small' });
  harness.agents.set(agent.id, agent);
  const { tenantId } = guardedUser(harness, { message: 'No addresses.' });
  const request = {
    ...{ agent: agent.id, callId: newId(), channel: 'telegram', sessionId: 'with-ann' },
    requestJson: JSON.stringify(chat?.body(mail)),
  };
  const assertion = await signer.delegation({ tenantId, agentId: agent.id, userId: 'ann' });
  await expect(webhook.call('complete', request, { deadlineMs: 10_000, assertion })).rejects.toMatchObject({
    ...{ code: 'content_blocked', message: 'No addresses.' },
  });
  await eventually(() =>
    expect(refusedEntries(harness, tenantId)).toMatchObject([
      {
        ...{ code: 'content_blocked', channel: 'telegram', dialect: null, client: null, model: 'small' },
        ...{ agent_id: agent.id, user_id: 'ann', api_key_id: null, count: 1 },
        details: [{ session_id: 'with-ann', guardrails: [{ name: 'pii', outcome: 'blocked' }] }],
      },
    ]),
  );
  expect(provider.received).toEqual([]);
});

it('a picture is refused by guardrails on its kind of text, and passes in an older message', async () => {
  const picture = { type: 'image_url', image_url: { url: 'https://example.com/a.png' } };
  const shown = { role: 'user', content: [picture] };
  const refusing = (...on: ('system' | 'user' | 'tool_result')[]) =>
    guardedUser(harness, { on, action: 'mask', unreadable: 'block' });
  const blocked = await ask({ messages: [shown] }, refusing('user'));
  expect([blocked.status, await blocked.json()]).toMatchObject([
    400,
    { error: { code: 'content_blocked', param: 'messages[0].content[0].image_url.url' } },
  ]);
  const more = [
    { role: 'assistant', content: 'A house.' },
    { role: 'user', content: 'Thanks.' },
  ];
  for (const [messages, principal] of [
    [[shown, ...more], refusing('user')],
    [[shown], refusing('system', 'tool_result')],
  ] as const) {
    provider.answer(whole(chatAnswer));
    expect((await ask({ messages }, principal)).status).toBe(200);
    expect(provider.received).toHaveLength(1);
  }
});
