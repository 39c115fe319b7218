import { hasFinished } from './chunks.ts';
import {
  atRoot,
  isSealed,
  reads,
  type FrameRules,
  type TextFormat,
  type TextPlace,
  type TextRules,
} from '../text-view/text-rules.ts';

/** The texts of chat completions and embeddings, and of bodies of other APIs at their path. */
const request: TextRules = {
  list: 'messages',
  kind: 'user',
  members: {
    ...reads('word', [
      ...['model', 'role', 'type', 'detail', 'format', 'voice', 'reasoning_effort', 'effort', 'service_tier'],
      ...['modalities', 'verbosity', 'search_context_size', 'prompt_cache_retention', 'mode', 'ttl'],
      ...['tool_choice', 'function_call', 'syntax', 'encoding_format', 'truncation', 'include'],
    ]),
    ...reads('fixed', ['name', 'namespace', 'definition']),
    ...reads('schema', ['parameters', 'schema']),
    ...reads('sealed', ['signature', 'encrypted_content']),
    ...reads('file', ['image_url', 'file_data', 'file_url', 'video_url', 'audio_url']),
    file_id: 'data',
    arguments: 'json',
    url: ({ name }) => (addresses.has(name) ? 'file' : 'text'),
    data: (around) =>
      around.name === 'input_audio' ? 'data' : around.sign('type').endsWith('.encrypted') ? 'sealed' : 'text',
    id: ({ name }) => (name === 'audio' ? 'data' : 'word'),
    summary: ({ name, isRoot }) => (name === 'reasoning' && !isRoot ? 'word' : 'text'),
    metadata: atRoot('identity'),
    user: atRoot('identity'),
    safety_identifier: atRoot('identity'),
    prompt_cache_key: atRoot('identity'),
    client_metadata: atRoot('identity'),
    // Its names are ids of tokens.
    logit_bias: atRoot('identity'),
  },
  names: new Set([
    ...['messages', 'input', 'instructions', 'content', 'text', 'refusal', 'tools', 'functions', 'function'],
    ...['custom', 'tool_calls', 'description', 'grammar', 'response_format', 'json_schema', 'prediction'],
    ...['stop', 'input_audio', 'audio', 'file', 'filename', 'thinking', 'thinking_blocks', 'transcript'],
    ...['reasoning', 'reasoning_content', 'reasoning_details', 'annotations', 'url_citation', 'title'],
    ...['web_search_options', 'user_location', 'approximate', 'city', 'country', 'region', 'timezone'],
    ...['strict', 'stream', 'stream_options', 'include_usage', 'include_obfuscation', 'n', 'seed', 'store'],
    ...['temperature', 'top_p', 'top_logprobs', 'logprobs', 'max_tokens', 'max_completion_tokens'],
    ...['max_output_tokens', 'presence_penalty', 'frequency_penalty', 'parallel_tool_calls', 'dimensions'],
    ...['allowed_tools', 'cache_control', 'moderation', 'prompt_cache_options', 'plugins', 'index'],
    ...['start_index', 'end_index', 'output', 'call', 'tool_call_id'],
  ]),
  kindOf: (place, member) => {
    if (place.isRoot) return systemMembers.has(member) ? 'system' : null;
    if (place.memberName !== 'messages' || place.owner?.isRoot !== true) return null;
    return kindsByRole[place.sign('role')] ?? null;
  },
  isOfModel: (place) => place.sign('role') === 'assistant',
  isSigned: (place) => isSealed(place.sign('signature')) && thoughts.has(place.sign('type')),
  // No reader of this API's form is known to verify it: the text would be a way around the checks.
  isSignedText: () => false,
  isThought: (place) => thoughts.has(place.sign('type')),
  unsigned: 'null',
  unrepeated: 'null',
  isUnreadable,
};

/** Offsets of a citation, in code points. */
const offsets: ReadonlySet<string> = new Set(['start_index', 'end_index']);

/** The texts of whole answers. */
const answer: TextRules = {
  ...request,
  list: '',
  choices: 'choices',
  kind: 'answer',
  members: {
    ...request.members,
    ...reads('word', ['object', 'finish_reason', 'native_finish_reason', 'system_fingerprint', 'provider']),
    logprobs: 'repeat',
    usage: atRoot('identity'),
    data: ({ name }) => (name === 'audio' ? 'data' : 'text'),
  },
  names: new Set([...request.names, 'choices', 'message', 'delta', 'usage', 'error', 'created']),
  citations: { offsets, unit: 'points', textKey: citedKey },
  kindOf: (_, member) => (member === 'tool_calls' || member === 'function_call' ? 'tool_call' : null),
  isUnreadable: () => false,
};

const addresses: ReadonlySet<string> = new Set(['image_url', 'file_url', 'video_url', 'audio_url']);

const systemMembers: ReadonlySet<string> = new Set(['tools', 'functions', 'instructions']);

const kindsByRole: Readonly<Partial<Record<string, 'system' | 'tool_result'>>> = {
  system: 'system',
  developer: 'system',
  tool: 'tool_result',
  function: 'tool_result',
};

/** Reasoning, as Anthropic's models have it through servers of this API. */
const thoughts: ReadonlySet<string> = new Set(['thinking', 'reasoning.text']);

const clientTools: ReadonlySet<string> = new Set(['', 'function', 'custom']);

const hostedMembers: ReadonlySet<string> = new Set(['web_search_options', 'plugins']);

function isUnreadable(place: TextPlace): boolean {
  if (place.owner?.isRoot !== true) return false;
  if (place.memberName === 'tools') return !clientTools.has(place.sign('type'));
  return place.hasNumbers ? place.memberName === 'input' : hostedMembers.has(place.memberName);
}

/** The member of an annotation in a message. */
const annotations = '.annotations[';

/** The key of the text cited by a place in the annotations of a message. */
function citedKey({ key }: TextPlace): string {
  return `${key.slice(0, Math.max(0, key.indexOf(annotations)))}.content`;
}

const inMessage = /^(choices\[\d+\])\.message\./;

/** The texts of chunks. Some servers send a message in place of deltas, or again behind them. */
const frame: FrameRules = {
  ...answer,
  members: { ...answer.members, arguments: 'text', obfuscation: 'word' },
  padding: 'obfuscation',
  channelOf: ({ member, key }) => ({
    key,
    ...(inMessage.test(key) && { repeated: key.replace(inMessage, '$1.delta.') }),
    isApart: key.includes(annotations),
    isJson: member === 'arguments',
  }),
  endedKeys: (place) =>
    place.memberName === 'choices' && hasFinished(place.sign('finish_reason')) ? place.key : null,
  signedKeys: (place) => ['text', 'thinking'].map((member) => place.keyOf(member)),
};

export const texts: TextFormat = { request, answer, frame };
