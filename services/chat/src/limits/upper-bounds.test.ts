import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { leastTokens, mostTokens } from './upper-bounds.ts';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { dialects } from '@gatehouse/dialects/dialects';
import type { Target } from '../catalogue/target.ts';
import { estimateTokens, sampleOf } from '@gatehouse/dialects/usage/token-estimate';

const model = Catalogue.parse({
  providers: [{ name: 'p', kind: 'openai', base_url: 'http://localhost/v1' }],
  models: [{ id: 'm', provider: 'p', max_output_tokens: 1_000 }],
}).models.get('m') as Model;

const target = (fields: Partial<Target> = {}): Target => ({
  chain: [model],
  affinity: null,
  agentId: null,
  systemPrompt: null,
  memory: null,
  reference: null,
  tools: null,
  ownKeys: null,
  defaults: {},
  ...fields,
});

function chatRequest(fields: Record<string, unknown>) {
  const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], ...fields };
  return dialects.chat.readRequest('chat', Buffer.from(JSON.stringify(body)), body);
}

function embeddingsRequest() {
  const body = { model: 'm', input: 'text' };
  return dialects.chat.readRequest('embeddings', Buffer.from(JSON.stringify(body)), body);
}

const mostInputTokens = (...asked: Parameters<typeof mostTokens>) => mostTokens(...asked)[0]?.input ?? 0;
const mostOutputTokens = (...asked: Parameters<typeof mostTokens>) => mostTokens(...asked)[0]?.output;

describe('the most that a prompt comes to', () => {
  it('is never below what a tokenizer counts', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 200 }), async (text) => {
        const most = mostInputTokens(chatRequest({ messages: [{ role: 'user', content: text }] }), target());
        expect(most).toBeGreaterThanOrEqual(await estimateTokens(sampleOf(text), 'tenant'));
      }),
    );
  });

  const text = Buffer.from('portcullis '.repeat(20)).toString('base64');
  const files: Record<string, (mediaType: string, name: string) => Record<string, unknown>> = {
    chat: (_type, filename) => ({
      messages: [{ role: 'user', content: [{ type: 'file', file: { filename, file_data: text } }] }],
    }),
    responses: (type) => ({
      input: [
        {
          role: 'user',
          content: [{ type: 'input_file', file_data: `data:${type};charset=utf-8;base64,${text}` }],
        },
      ],
    }),
    messages: (media_type) => ({
      max_tokens: 9,
      messages: [
        {
          role: 'user',
          content: [{ type: 'document', source: { type: 'base64', media_type, data: text } }],
        },
      ],
    }),
    gemini: (mimeType) => ({ contents: [{ parts: [{ inlineData: { mimeType, data: text } }] }] }),
  };

  it.each(Object.keys(files))('counts files in plain text of %s by their bytes', (name) => {
    const dialect = dialects[name as keyof typeof dialects];
    const most = (type: string, file: string): number => {
      const body = { model: 'm', ...files[name]?.(type, file) };
      const bytes = Buffer.from(JSON.stringify(body));
      const inPath = { model: 'm', stream: false };
      const request = dialect.readRequest('chat', bytes, body, name === 'gemini' ? inPath : undefined);
      return mostInputTokens(request, target()) - bytes.length;
    };
    expect(most('text/csv', 'table.csv')).toBeLessThan(100);
    expect(most('application/json', 'table.json')).toBeLessThan(100);
    expect(most('application/pdf', 'table.pdf')).toBeGreaterThan(3_000);
  });

  it('counts an agent’s prompt, and pictures by their number', () => {
    const plain = mostInputTokens(chatRequest({}), target());
    expect(mostInputTokens(chatRequest({}), target({ systemPrompt: 'ünï' }))).toBe(plain + 5);
    const reference = { index: 0, content: 'ünï' };
    expect(mostInputTokens(chatRequest({}), target({ reference }))).toBe(plain + 5);
    const picture = (bytes: number) =>
      mostInputTokens(
        chatRequest({
          messages: [
            {
              role: 'user',
              content: [
                null,
                { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(bytes)}` } },
              ],
            },
          ],
        }),
        target(),
      );
    expect(picture(1_000_000)).toBe(picture(10));
    expect(picture(10)).toBeGreaterThan(4_096);
  });

  it.each([
    [{ content: [{ type: 'file', file: { file_id: 'file-1' } }] }],
    [{ content: [{ type: 'video_url', video_url: { url: 'https://videos.example/1' } }] }],
    [{ content: [{ type: 'audio_url', audio_url: { url: 'https://sounds.example/1' } }] }],
    [{ role: 'assistant', audio: { id: 'audio-1' } }],
  ])('counts what %j refers to', (message) => {
    const most = mostInputTokens(chatRequest({ messages: [{ role: 'user', ...message }] }), target());
    expect(most).toBeGreaterThan(4_096);
  });

  it('counts the bytes of an agent’s parameters', () => {
    const stop = (text: string) => mostInputTokens(chatRequest({}), target({ defaults: { stop: text } }));
    expect(stop('你好') - stop('ab')).toBe(4);
  });
});

describe('the most that the answers come to', () => {
  it.each([
    [{}, {}, 1_000],
    [{ max_tokens: 10 }, {}, 10],
    [{ max_tokens: 0 }, {}, 0],
    [{ max_tokens: 10, max_completion_tokens: 20 }, {}, 20],
    [{ max_tokens: 5_000 }, {}, 1_000],
    [{ max_tokens: -1 }, {}, 1_000],
    [{ max_tokens: 10, max_completion_tokens: -1 }, {}, 1_000],
    [{ max_tokens: 10, n: 3 }, {}, 30],
    [{}, { max_tokens: 7, n: 2 }, 14],
    [{ n: 1 }, { max_tokens: 7, n: 2 }, 7],
    [{ max_tokens: 9 }, { max_tokens: 7 }, 9],
    [{ max_tokens: null }, { max_tokens: 7 }, 1_000],
    [{ max_completion_tokens: null }, { max_tokens: 7 }, 1_000],
    [{ max_tokens: 10, n: 1e300 }, {}, 1e9],
  ])('of %j with the agent’s %j is %d', (fields, defaults, most) => {
    expect(mostOutputTokens(chatRequest(fields), target({ defaults }))).toBe(most);
  });

  it.each([
    [{}, 4_096],
    [{ max_tokens: 10 }, 10],
    [{ max_tokens: 100_000 }, 100_000],
  ])('of %j for a model without max_output_tokens is %d', (fields, most) => {
    const { max_output_tokens: _limit, ...unlimited } = model;
    expect(mostOutputTokens(chatRequest(fields), target({ chain: [unlimited] }))).toBe(most);
  });

  it('are as the request has them where a beta may lift the limit of the model', () => {
    const betas = { 'anthropic-beta': 'output-300k-2026-03-24' };
    const asked = (fields: Record<string, unknown>) => mostOutputTokens(chatRequest(fields), target(), betas);
    expect([asked({ max_tokens: 300_000 }), asked({ max_tokens: 10 }), asked({})]).toEqual([
      300_000, 10, 1_000,
    ]);
  });

  it('is nothing of embeddings', () => {
    expect(mostOutputTokens(embeddingsRequest(), target())).toBe(0);
  });
});

describe('a compaction within the call', () => {
  const most = (name: 'messages' | 'responses', context_management: unknown) => {
    const body = { model: 'm', max_tokens: 100, max_output_tokens: 100, context_management };
    const fields = { ...body, messages: [{ role: 'user', content: 'hello' }], input: 'hello' };
    const bytes = Buffer.from(JSON.stringify(fields));
    const [amounts] = mostTokens(dialects[name].readRequest('chat', bytes, fields), target());
    return amounts && { ...amounts, input: amounts.input / bytes.length };
  };

  it.each<['messages' | 'responses', unknown, number]>([
    ['messages', { edits: [{ type: 'compact_20260112' }] }, 2],
    ['messages', { edits: [null, { type: 'clear_thinking_20251015' }, { type: 'compact_20270101' }] }, 2],
    ['messages', { edits: [{ type: 'clear_tool_uses_20250919' }] }, 1],
    ['messages', { edits: 'compact_20260112' }, 1],
    ['responses', [{ type: 'compaction', compact_threshold: 9 }], 2],
    ['responses', [null, { type: 'clear' }], 1],
    ['responses', null, 1],
  ])('of %s with %j', (name, management, samplings) => {
    const amounts = most(name, management);
    expect(amounts).toMatchObject({ samplings, choices: samplings, output: samplings * 100 });
    expect(amounts?.input).toBeCloseTo(samplings, 0);
  });
});

describe('the limit of an answer may be lowered', () => {
  it.each<[Record<string, unknown>, Record<string, unknown>, number]>([
    [{}, {}, 4_096],
    [{ thinking: { type: 'enabled', budget_tokens: 10_000 } }, {}, 10_001],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, {}, 4_096],
    [{ reasoning: { max_tokens: 8_000 } }, {}, 8_001],
    [{ thinking_budget: 9_000 }, {}, 9_001],
    [{ extra_body: { google: { thinking_config: { thinking_budget: 6_000 } } } }, {}, 6_001],
    [{ thinking: null, reasoning: 'high' }, {}, 4_096],
    [{}, { thinking: { budget_tokens: 5_000 } }, 5_001],
    [{ thinking: null }, { thinking: { budget_tokens: 5_000 } }, 4_096],
  ])('of %j with the agent’s %j to %d', (fields, defaults, least) => {
    expect(leastTokens(chatRequest(fields), target({ defaults }))).toBe(least);
  });

  it('not of embeddings', () => {
    expect(leastTokens(embeddingsRequest(), target())).toBeNull();
  });
});

describe('what a request asks for', () => {
  const asked = (fields: Record<string, unknown>, defaults: Record<string, unknown> = {}) => {
    const [most] = mostTokens(chatRequest(fields), target({ defaults }));
    return [most?.serviceTier, most?.classes];
  };
  const sound = [
    { role: 'user', content: [{ type: 'input_audio', input_audio: { data: 'AAAA', format: 'mp3' } }] },
  ];

  it.each<[Record<string, unknown>, Record<string, unknown>, unknown[]]>([
    [{}, {}, [null, []]],
    [{ service_tier: 'priority' }, {}, ['priority', []]],
    [{}, { service_tier: 'flex' }, ['flex', []]],
    [{ service_tier: null }, { service_tier: 'flex' }, [null, []]],
    [{ modalities: ['text', 'audio'] }, {}, [null, ['outputAudio']]],
    [{}, { modalities: ['image', 'text'] }, [null, ['outputImage']]],
    [{ messages: sound }, {}, [null, ['inputAudio']]],
  ])('of %j with the agent’s %j is %j', (fields, defaults, expected) => {
    expect(asked(fields, defaults)).toEqual(expected);
  });
});
