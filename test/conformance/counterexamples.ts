import type { DocumentKind } from './exchanges.ts';

interface Counterexample {
  name: string;
  kind: DocumentKind;
  document: object;
}

const choice = {
  index: 0,
  message: { role: 'assistant', content: 'hi', refusal: null },
  logprobs: null,
  finish_reason: 'stop',
};
const completion = { id: 'x', object: 'chat.completion', created: 1, model: 'm', choices: [choice] };
const chunkChoice = { index: 0, delta: {}, finish_reason: null };
const chunk = { ...completion, object: 'chat.completion.chunk', choices: [chunkChoice] };
const error = { message: 'No.', type: 'api_error', code: null, param: null };

function without(document: object, field: string): object {
  return Object.fromEntries(Object.entries(document).filter(([name]) => name !== field));
}

/** Documents that a schema must refuse: the proof that it looks where it should. */
export const counterexamples: readonly Counterexample[] = [
  { name: 'without a created time', kind: 'completion', document: without(completion, 'created') },
  {
    name: 'without log probabilities, not even null',
    kind: 'completion',
    document: { ...completion, choices: [without(choice, 'logprobs')] },
  },
  {
    name: 'without a finish reason',
    kind: 'completion',
    document: { ...completion, choices: [{ ...choice, finish_reason: null }] },
  },
  {
    name: 'without a refusal, not even null',
    kind: 'completion',
    document: { ...completion, choices: [{ ...choice, message: without(choice.message, 'refusal') }] },
  },
  {
    name: 'with usage that lacks the total',
    kind: 'completion',
    document: { ...completion, usage: { prompt_tokens: 1, completion_tokens: 1 } },
  },
  { name: 'of another kind', kind: 'chunk', document: { ...chunk, object: 'chat.completion' } },
  {
    name: 'in a chunk without a finish reason, not even null',
    kind: 'chunk',
    document: { ...chunk, choices: [without(chunkChoice, 'finish_reason')] },
  },
  {
    name: 'in a chunk whose tool call has no index',
    kind: 'chunk',
    document: { ...chunk, choices: [{ ...chunkChoice, delta: { tool_calls: [{ id: 'call_1' }] } }] },
  },
  {
    name: 'with a model without an owner',
    kind: 'model',
    document: { id: 'm', object: 'model', created: 1 },
  },
  { name: 'with a list of models that is none', kind: 'models', document: { object: 'list' } },
  {
    name: 'with embeddings without usage',
    kind: 'embeddings',
    document: { object: 'list', model: 'm', data: [] },
  },
  {
    name: 'with a verdict that flags nothing',
    kind: 'moderations',
    document: { id: 'modr-1', model: 'm', results: [{}] },
  },
  { name: 'with an error without a param', kind: 'error', document: { error: without(error, 'param') } },
];
