import { expect, it } from '@jest/globals';
import { dialects } from '@gatehouse/dialects/dialects';
import { requestFacts } from './request-facts.ts';

const picture = {
  type: 'image',
  source: { type: 'base64', media_type: 'image/png', data: 'x'.repeat(4_000) },
};
const requests = {
  chat: { model: 'm', messages: [{ role: 'user', content: 'What is it?' }], n: 2, max_tokens: 9 },
  messages: {
    ...{ model: 'm', max_tokens: 9_000, system: 'Be short.', tools: [{ name: 'look', input_schema: {} }] },
    thinking: { type: 'enabled', budget_tokens: 2_000 },
    messages: [{ role: 'user', content: [{ type: 'text', text: '東 '.repeat(60_000) }, picture] }],
  },
  responses: { model: 'm', input: [{ role: 'user', content: 'Is it so?' }], store: false },
} as const;

it.each(Object.entries(requests))('of %s are those of the request', (api, fields) => {
  const body = Buffer.from(JSON.stringify(fields));
  const request = dialects[api as keyof typeof requests].readRequest('chat', body, fields);
  const defaults = { max_tokens: 50 };
  const target = { defaults, memory: { write: true } as never };
  const facts = requestFacts(request, { target, previewChars: 100 });
  expect(facts.requestedAmounts({})).toEqual(request.requestedAmounts(defaults));
  expect(facts.thinking({})).toEqual(request.thinking(defaults));
  expect(facts.choicesWith({})).toBe(request.choicesWith(defaults));
  expect(facts.inputPreview(100)).toBe(request.inputPreview(100));
  expect(facts.promptSample()).toEqual(request.promptSample());
  const added = ['You are an agent.', { beginning: 'tools', chars: 500 }];
  expect(facts.promptSample(added)).toEqual(request.promptSample(added));
  expect(facts.lastUserText()).toMatchObject({ index: request.lastUserText()?.index });
  expect(facts).toMatchObject({
    ...{ model: 'm', bytes: body.length, toolNames: request.toolNames, callIds: request.callIds },
  });
  const additions = { systemPrompt: 'x', toolNames: new Set<string>(), kept: null };
  expect(facts.viewWith?.(additions) ?? null).toEqual(request.viewWith?.(additions) ?? null);
});

it('have no text that the turn does not need', () => {
  const fields = requests.messages;
  const request = dialects.messages.readRequest('chat', Buffer.from(JSON.stringify(fields)), fields);
  const facts = requestFacts(request, { target: { defaults: {}, memory: null }, previewChars: 0 });
  expect(facts.inputPreview(10)).toBe('');
  expect(facts.lastUserText()).toBeNull();
});
