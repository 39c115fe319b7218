import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import { writeJson } from '../wire/json-text.ts';
import { Pieces } from '../wire/pieces.ts';
import type { TranslatedApi } from './api.ts';
import { openAiChatTranslation } from '../openai-chat/translation.ts';
import type { Conversation, Part } from './conversation.ts';
import { geminiTranslation } from '../gemini/translation.ts';
import { DroppedFields } from './dropped-fields.ts';
import { anthropicMessagesTranslation } from '../anthropic-messages/translation.ts';
import { openAiResponsesTranslation } from '../openai-responses/translation.ts';
import { conversations, facts } from '@gatehouse/test/translation-samples';
import { markedSignature, withMac } from './signatures.ts';
import { translationBetween } from './translation.ts';

/** Long texts of large requests are not read, and come where those of small ones do. */

const clients = {
  chat: openAiChatTranslation,
  responses: openAiResponsesTranslation,
  messages: anthropicMessagesTranslation,
  gemini: geminiTranslation,
} satisfies Record<string, TranslatedApi>;
const pairs = (Object.keys(clients) as (keyof typeof clients)[]).flatMap((from) =>
  ([...(Object.keys(clients) as (keyof typeof clients)[]), 'converse'] as const).map(
    (to) => [from, to] as const,
  ),
);

const filler = ' 東 "\\" \n😀'.repeat(150);
const base64 = 'QUJD'.repeat(1_000);

function longPart(part: Part): Part[] {
  switch (part.kind) {
    case 'text':
      return [{ ...part, text: part.text + filler }];
    case 'call':
      return [{ ...part, argumentsText: writeJson({ q: filler, path: part.argumentsText }) }];
    case 'result':
      return [
        {
          ...part,
          parts: part.parts.map((each) => (each.kind === 'text' ? { ...each, text: filler } : each)),
        },
      ];
    case 'image':
      return [{ ...part, source: { data: base64, mediaType: 'image/png' } }];
    default:
      return [part];
  }
}

function longTexts(conversation: Conversation, stop: readonly string[]): Conversation {
  const file: Part = {
    ...{ kind: 'file', name: 'a.txt', at: '' },
    source: { data: Buffer.from(filler).toString('base64'), mediaType: 'text/plain' },
  };
  const turns = conversation.turns.map((turn) => ({ ...turn, parts: turn.parts.flatMap(longPart) }));
  const [first] = turns.filter(({ role }) => role === 'user');
  first?.parts.push(file);
  return {
    ...conversation,
    stop,
    turns,
    tools: conversation.tools.map((tool) => ({ ...tool, description: filler })),
  };
}

/** White space makes a request large. */
const space = Buffer.alloc(1024 * 1024 + 1, ' ');

/** The request for the provider, or why there is none. */
async function written(
  from: keyof typeof clients,
  to: (typeof pairs)[number][1],
  body: Pieces,
): Promise<unknown> {
  try {
    const { body: sent, ignored } = await translationBetween(from, to, facts).request(body, {
      tenantId: null,
    });
    return { sent: sent.toString(), ignored };
  } catch (error) {
    return String(error);
  }
}

it.each(pairs)('from %s to %s', async (from, to) => {
  const stop = from === 'responses' || to === 'responses' ? [] : ['.'];
  let translated = 0;
  await fc.assert(
    fc.asyncProperty(conversations, async (conversation) => {
      const dropped = new DroppedFields(clients[from].fieldNames);
      const request = atOnce(clients[from].writeRequest(longTexts(conversation, stop), facts, dropped));
      const json = Buffer.from(writeJson(request));
      expect(json.length).toBeLessThan(space.length);
      const large = await written(from, to, new Pieces([json, space]));
      if (typeof large === 'object') translated += 1;
      expect(large).toEqual(await written(from, to, Pieces.from(json)));
    }),
    { numRuns: 3 },
  );
  expect(translated).toBeGreaterThan(0);
});

const signed = markedSignature(withMac({ origin: 'google', text: base64, isRedacted: true }, facts.macs));
const asked = { role: 'user', content: `${filler} as JSON, please` };
const encoded = Buffer.from(filler).toString('base64');
const image = { type: 'input_image', image_url: `data:image/png;base64,${base64}` };

const argumentsJson = JSON.stringify({ q: filler });
const call = (id: string, args: object): object => ({ id, type: 'function', name: 'search', ...args });

it.each<[string, keyof typeof clients, (typeof pairs)[number][1], object]>([
  ...[argumentsJson, ` \n${argumentsJson}`, JSON.stringify(argumentsJson), filler].flatMap((text) =>
    (['messages', 'gemini', 'converse'] as const).map((to): [string, 'chat', typeof to, object] => [
      'arguments without a function around them',
      ...(['chat', to] as const),
      {
        messages: [
          asked,
          {
            role: 'assistant',
            tool_calls: [call('a', { parameters: text }), call('b', { input: text })],
          },
          ...['a', 'b'].map((id) => ({ role: 'tool', tool_call_id: id, content: 'found' })),
        ],
      },
    ]),
  ),
  [
    'input that is JSON in a text',
    ...(['messages', 'gemini'] as const),
    {
      max_tokens: 9,
      messages: [
        asked,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'search', input: argumentsJson }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'found' }] },
      ],
    },
  ],
  [
    'args that are JSON in a text',
    ...(['gemini', 'messages'] as const),
    {
      contents: [
        { role: 'user', parts: [{ text: filler }] },
        { role: 'model', parts: [{ functionCall: { name: 'search', args: argumentsJson } }] },
        { role: 'user', parts: [{ functionResponse: { name: 'search', response: { a: 'b' } } }] },
      ],
    },
  ],
  [
    'a text file',
    ...(['chat', 'messages'] as const),
    {
      messages: [
        { role: 'user', content: [{ type: 'file', file: { filename: 'a.txt', file_data: encoded } }] },
      ],
    },
  ],
  [
    'the word that a mode needs',
    'gemini',
    'chat',
    {
      contents: [{ role: 'user', parts: [{ text: asked.content }] }],
      generationConfig: { responseMimeType: 'application/json' },
    },
  ],
  [
    'a signature that was marked',
    'messages',
    'gemini',
    {
      max_tokens: 9,
      messages: [
        asked,
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: signed },
            { type: 'text', text: filler },
          ],
        },
        asked,
      ],
    },
  ],
  ['an image', 'responses', 'converse', { input: [{ role: 'user', content: [image] }] }],
  ['a prompt', 'responses', 'gemini', { instructions: filler, input: filler }],
])('%s, from %s to %s', async (_name, from, to, request) => {
  const json = Buffer.from(JSON.stringify({ model: 'm', ...request }));
  const small = await written(from, to, Pieces.from(json));
  expect(small).toHaveProperty('sent');
  expect(await written(from, to, new Pieces([json, space]))).toEqual(small);
});
