import type { DialectName } from '@gatehouse/contract/dialects';
import { parseBody } from '@gatehouse/http/body';
import { describe, expect, it } from '@jest/globals';
import { longestBlock } from '@gatehouse/test/longest-block';
import { dialects } from '../dialects.ts';
import { facts } from '@gatehouse/test/translation-samples';
import { translationBetween } from './translation.ts';
import { Pieces } from '../wire/pieces.ts';

/** 50 ms are promised for each part of work on an idle machine. */
const mostMs = 250;
const MiB = 1024 * 1024;

type Fields = Record<string, unknown>;

/** Requests whose first text of the user is `content`. */
const asking: Record<DialectName, (content: unknown, tool: Fields) => Fields> = {
  chat: (content, { name, description, schema: parameters }) => ({
    messages: [{ role: 'user', content }],
    tools: [{ type: 'function', function: { name, description, parameters } }],
  }),
  responses: (content, { name, description, schema: parameters }) => ({
    input: [{ role: 'user', content }],
    tools: [{ type: 'function', name, description, parameters }],
  }),
  messages: (content, { name, description, schema }) => ({
    max_tokens: 9,
    messages: [{ role: 'user', content }],
    tools: [{ name, description, input_schema: schema }],
  }),
  gemini: (content, { name, description, schema: parameters }) => ({
    contents: [{ role: 'user', parts: [{ text: content }] }],
    tools: [{ functionDeclarations: [{ name, description, parameters }] }],
  }),
};

type Texts = Partial<Record<'content' | 'description' | 'inSchema', string>>;

/** The texts of requests, each in place of one that is short. */
const cases: readonly [string, DialectName, Texts][] = [
  // The most that a body may have, at the places that readers reach last.
  ['a text of escapes', 'messages', { content: '\\"'.repeat(4.9e6) }],
  ['a text of escapes', 'gemini', { content: '\\"'.repeat(4.9e6) }],
  ['a schema of escapes', 'gemini', { inSchema: '\\"'.repeat(4.9e6) }],
  ['a long description', 'responses', { description: 'a'.repeat(30 * MiB) }],
];

describe.each(cases)('a request with %s in %s', (_name, client, texts) => {
  const schema = { type: 'object', description: '@inSchema' };
  const fields = asking[client]('@content', { name: 'f', description: '@description', schema });
  const json = JSON.stringify({ model: 'm', ...fields }).replaceAll(
    /@(\w+)/g,
    (_all, place: 'content') => texts[place] ?? place,
  );

  it('holds up the event loop for a short time at most', async () => {
    const body = Buffer.from(json);
    let parsed: unknown;
    expect(await longestBlock(async () => (parsed = await parseBody(body, 't')))).toBeLessThan(mostMs);
    const request = dialects[client].readRequest('chat', body, parsed, { model: 'm', stream: false });
    const sampled = await longestBlock(async () => request.promptSample(['x']));
    expect(sampled).toBeLessThan(mostMs);
    let source = request.source({ release: () => undefined });
    expect(
      await longestBlock(async () => (source = request.source({ release: () => undefined }))),
    ).toBeLessThan(mostMs);
    const rewrite = { api: client, model: 'upstream', includeUsage: true, tools: null };
    const changes = { systemPrompt: 'agent', reference: { index: 0, content: 'x' }, defaults: {} };
    let sent: Buffer = body;
    const rewritten = await longestBlock(
      async () => (sent = source.rewritten({ ...rewrite, ...changes, maxTokens: null }).whole),
    );
    expect(rewritten).toBeLessThan(mostMs);
    const to = client === 'messages' ? 'chat' : 'messages';
    const translated = await longestBlock(() =>
      translationBetween(client, to, facts).request(Pieces.from(sent), { tenantId: 't' }),
    );
    expect(translated).toBeLessThan(mostMs);
  });
});
