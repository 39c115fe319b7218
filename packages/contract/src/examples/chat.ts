import type { Examples } from './example.ts';

const usage = { prompt_tokens: 11, completion_tokens: 9, total_tokens: 20 };

const head = { id: 'chatcmpl-B9MBs8C', created: 1_768_000_000, model: 'gpt-4.1-mini' };

const answer = (content: string) => ({
  ...head,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  usage,
});

const event = (delta: object, finish_reason: string | null = null) => ({
  ...head,
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta, finish_reason }],
});

const stream = [
  event({ role: 'assistant', content: '' }),
  event({ content: 'Hello' }),
  event({ content: '!' }),
  event({}, 'stop'),
  { ...head, object: 'chat.completion.chunk', choices: [], usage },
]
  .map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
  .join('');

const weather = {
  type: 'function',
  function: {
    name: 'weather',
    description: 'The weather at a place now',
    parameters: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
  },
};

const model = { id: 'gpt-4.1-mini', object: 'model', created: 0, owned_by: 'openai' };
const agent = { id: 'agent:assistant', object: 'model', created: 1_768_000_000, owned_by: 'tenant' };

export const chatExamples: Record<string, Examples> = {
  'chat.completions': {
    question: {
      summary: 'One question',
      body: {
        model: 'gpt-4.1-mini',
        messages: [
          { role: 'system', content: 'Answer in one sentence.' },
          { role: 'user', content: 'What is a gatehouse?' },
        ],
        temperature: 0.2,
        max_tokens: 100,
      },
      response: answer('A gatehouse is a building that guards an entrance.'),
    },
    stream: {
      summary: 'A stream, with its usage at the end',
      body: {
        model: 'gpt-4.1-mini',
        messages: [{ role: 'user', content: 'Say hello.' }],
        stream: true,
        stream_options: { include_usage: true },
      },
      events: `${stream}data: [DONE]\n\n`,
    },
    agent: {
      summary: 'An agent, by its key',
      body: { model: 'agent:assistant', messages: [{ role: 'user', content: 'Say hello.' }] },
      response: answer('Hello! What can I do for you?'),
    },
    parts: {
      summary: 'A text and a picture',
      body: {
        model: 'gpt-4.1-mini',
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What does this picture show?' },
              { type: 'image_url', image_url: { url: 'https://example.com/gate.png', detail: 'low' } },
            ],
          },
        ],
      },
      response: answer('A gate between two towers.'),
    },
    tools: {
      summary: 'A function that the model may ask for, and an answer in a given form',
      body: {
        model: 'gpt-4.1-mini',
        messages: [{ role: 'user', content: 'Is it raining in Lima?' }],
        tools: [weather],
        tool_choice: 'auto',
        response_format: { type: 'json_object' },
      },
      response: {
        ...answer(''),
        choices: [
          {
            index: 0,
            message: {
              role: 'assistant',
              content: null,
              refusal: null,
              tool_calls: [
                {
                  id: 'call_1',
                  type: 'function',
                  function: { name: 'weather', arguments: '{"place":"Lima"}' },
                },
              ],
            },
            logprobs: null,
            finish_reason: 'tool_calls',
          },
        ],
      },
    },
  },
  'embeddings.create': {
    texts: {
      summary: 'Two texts',
      body: {
        model: 'text-embedding-3-small',
        input: ['gatehouse', 'portcullis'],
        dimensions: 3,
        encoding_format: 'float',
      },
      response: {
        object: 'list',
        model: 'text-embedding-3-small',
        data: [
          { object: 'embedding', index: 0, embedding: [0.12, -0.48, 0.86] },
          { object: 'embedding', index: 1, embedding: [0.31, -0.52, 0.79] },
        ],
        usage: { prompt_tokens: 5, total_tokens: 5 },
      },
    },
  },
  'models.list': {
    all: { summary: 'A model and an agent', response: { object: 'list', data: [model, agent] } },
  },
  'models.get': {
    agent: { summary: 'An agent', params: { id: 'agent:assistant' }, response: agent },
    model: { summary: 'A model', params: { id: 'gpt-4.1-mini' }, response: model },
  },
};
