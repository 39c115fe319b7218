import type { DialectName } from '@gatehouse/contract/dialects';
import type { Fields } from '@gatehouse/kit/fields';
import type { Capability } from './capability-effect.ts';

/** Parts of requests, in the members of each API. */

export const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
export const pdf = Buffer.from('%PDF-1.4 small').toString('base64');
export const wav = Buffer.from('RIFF....WAVE').toString('base64');
export const cat = 'https://example.com/cat.png';
export const paper = 'https://example.com/paper.pdf';
export const schema = {
  ...{ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  additionalProperties: false,
};

/** A message of the user with a part besides its text. */
function withPart(client: DialectName, part: Fields): Fields {
  switch (client) {
    case 'chat':
      return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Go' }, part] }] };
    case 'responses':
      return { input: [{ role: 'user', content: [{ type: 'input_text', text: 'Go' }, part] }] };
    case 'messages':
      return { messages: [{ role: 'user', content: [{ type: 'text', text: 'Go' }, part] }] };
    case 'gemini':
      return { contents: [{ role: 'user', parts: [{ text: 'Go' }, part] }] };
  }
}

export function parts(given: Partial<Record<DialectName, Fields>>): Capability['asked'] {
  return Object.fromEntries(
    Object.entries(given).map(([client, part]) => [client, withPart(client as DialectName, part)]),
  );
}

export function tools(...names: string[]): Record<DialectName, Fields> {
  const each = (write: (name: string) => Fields): Fields => ({ tools: names.map(write) });
  return {
    chat: each((name) => ({ type: 'function', function: { name, parameters: schema } })),
    responses: each((name) => ({ type: 'function', name, parameters: schema, strict: false })),
    messages: each((name) => ({ name, input_schema: schema })),
    gemini: {
      tools: [{ functionDeclarations: names.map((name) => ({ name, parametersJsonSchema: schema })) }],
    },
  };
}

export const weather = tools('weather');
export const two = tools('alpha', 'omega');

/** Two calls at once with their results, in the members of each API. */
export const called: Record<DialectName, Fields> = {
  chat: {
    ...weather.chat,
    messages: [
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        tool_calls: ['1', '2'].map((id) => ({
          ...{ id, type: 'function', function: { name: 'weather', arguments: '{"city":"Bonn"}' } },
        })),
      },
      { role: 'tool', tool_call_id: '2', content: 'Rainy.' },
      { role: 'tool', tool_call_id: '1', content: 'Sunny.' },
    ],
  },
  responses: {
    ...weather.responses,
    input: [
      { role: 'user', content: 'Go' },
      ...['1', '2'].map((id) => ({
        ...{ type: 'function_call', call_id: id, name: 'weather', arguments: '{"city":"Bonn"}' },
      })),
      { type: 'function_call_output', call_id: '2', output: 'Rainy.' },
      { type: 'function_call_output', call_id: '1', output: 'Sunny.' },
    ],
  },
  messages: {
    ...weather.messages,
    messages: [
      { role: 'user', content: 'Go' },
      {
        role: 'assistant',
        content: ['1', '2'].map((id) => ({ type: 'tool_use', id, name: 'weather', input: { city: 'Bonn' } })),
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: '1', content: 'Sunny.' },
          { type: 'tool_result', tool_use_id: '2', content: 'Rainy.' },
        ],
      },
    ],
  },
  gemini: {
    ...weather.gemini,
    contents: [
      { role: 'user', parts: [{ text: 'Go' }] },
      {
        role: 'model',
        parts: ['1', '2'].map((id) => ({ functionCall: { id, name: 'weather', args: { city: 'Bonn' } } })),
      },
      {
        role: 'user',
        parts: [
          { functionResponse: { id: '1', name: 'weather', response: { output: 'Sunny.' } } },
          { functionResponse: { id: '2', name: 'weather', response: { output: 'Rainy.' } } },
        ],
      },
    ],
  },
};

export const image = { type: 'base64', media_type: 'image/png', data: png };
