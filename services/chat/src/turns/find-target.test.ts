import { expect, it } from '@jest/globals';
import { dialects, type ApiName } from '@gatehouse/dialects/dialects';
import { affinityOf } from './find-target.ts';

/** The affinity of a request without a session in each API. */
function affinities(system: string, texts: readonly string[], tenantId = 'tenant'): (string | null)[] {
  const said = texts.map((text, index) => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: text }));
  const bodies: Record<ApiName, object> = {
    chat: { model: 'm', messages: [{ role: 'system', content: system }, ...said] },
    responses: { model: 'm', instructions: system, input: said },
    messages: { model: 'm', max_tokens: 1, system, messages: said },
    gemini: {
      systemInstruction: { parts: [{ text: system }] },
      contents: said.map(({ role, content }) => ({
        role: role === 'user' ? 'user' : 'model',
        parts: [{ text: content }],
      })),
    },
  };
  return Object.entries(bodies).map(([name, body]) => {
    const text = Buffer.from(JSON.stringify(body));
    const read = dialects[name as ApiName].readRequest('chat', text, body, { model: 'm', stream: false });
    return affinityOf(tenantId, null, read);
  });
}

it('is the same for all turns of a conversation, in each API', () => {
  const first = affinities('Be brief.', ['hello']);
  expect(new Set(first).size).toBe(1);
  expect(first).not.toContain(null);
  expect(affinities('Be brief.', ['hello', 'hi', 'and now?'])).toEqual(first);
});

it('differs by tenant, by system prompt to its end, and by the first message of the user', () => {
  const long = 's'.repeat(100_000);
  const all = [
    ...affinities(long, ['hello']),
    ...affinities(long, ['hello'], 'other'),
    ...affinities(`${long}.`, ['hello']),
    ...affinities(long, ['hello!']),
    ...affinities(long, [`${long}1`]),
    ...affinities(long, [`${long}2`]),
  ];
  expect(new Set(all).size).toBe(6);
});

it('is that of the session where there is one', () => {
  const request = { firstTexts: ['hello'] };
  const ofSession = affinityOf('tenant', 's', request);
  expect(affinityOf('tenant', 's', { firstTexts: ['bye'] })).toBe(ofSession);
  expect(affinityOf('other', 's', request)).not.toBe(ofSession);
  expect(affinityOf('tenant', null, request)).not.toBe(ofSession);
});

it('is none for embeddings, and for a conversation that no user has begun', () => {
  const embeddings = { model: 'm', input: 'text' };
  const read = dialects.chat.readRequest('embeddings', Buffer.from(JSON.stringify(embeddings)), embeddings);
  expect(affinityOf('tenant', null, read)).toBeNull();
  const prefilled = { model: 'm', messages: [{ role: 'system', content: 'Say something.' }] };
  const begun = dialects.chat.readRequest('chat', Buffer.from(JSON.stringify(prefilled)), prefilled);
  expect(affinityOf('tenant', null, begun)).toBeNull();
});

it('reads a bounded part of what comes before the first message of the user', () => {
  const system = Array.from({ length: 10_000 }, () => ({ role: 'system', content: 's'.repeat(10_000) }));
  const body = { model: 'm', messages: [...system, { role: 'user', content: 'hello' }] };
  const read = dialects.chat.readRequest('chat', Buffer.from('{}'), body);
  const began = performance.now();
  expect(affinityOf('tenant', null, read)).not.toBeNull();
  expect(performance.now() - began).toBeLessThan(500);
});
