import {
  atRoot,
  isSealed,
  reads,
  type TextFormat,
  type TextPlace,
  type TextRules,
} from '../text-view/text-rules.ts';
import { frameRules } from './frame-rules.ts';
import { clientItems, isCall } from './items.ts';

/** The texts of requests for responses. */
const request: TextRules = {
  list: 'input',
  kind: 'user',
  members: {
    ...reads('word', [
      ...['model', 'role', 'type', 'status', 'phase', 'detail', 'format', 'effort', 'service_tier', 'mode'],
      ...['include', 'truncation', 'tool_choice', 'verbosity', 'search_context_size', 'execution', 'syntax'],
      ...['prompt_cache_retention', 'previous_response_id', 'container', 'conversation', 'environment'],
      ...[
        'size',
        'quality',
        'background',
        'output_format',
        'moderation',
        'input_fidelity',
        'button',
        'ranker',
      ],
      ...['context', 'require_approval', 'fingerprint', 'memory_limit', 'ttl'],
    ]),
    ...reads('fixed', ['name', 'namespace', 'server_label', 'definition', 'server_url', 'allowed_tools']),
    ...reads('schema', ['parameters', 'schema', 'input_schema']),
    ...reads('sealed', ['encrypted_content']),
    ...reads('file', ['image_url', 'file_data', 'file_url']),
    arguments: 'json',
    // Citations and results of a search name a file beside its text.
    file_id: ({ memberName }) => (citing.has(memberName) ? 'word' : 'data'),
    data: ({ name }) => (name === 'input_audio' ? 'data' : 'text'),
    // A picture of the code interpreter.
    url: (around) => (around.sign('type') === 'image' ? 'file' : 'text'),
    result: (around) => (around.sign('type') === 'image_generation_call' ? 'data' : 'text'),
    summary: ({ name, owner }) => (name === 'reasoning' && owner?.isRoot === true ? 'word' : 'text'),
    authorization: serverAccess,
    headers: serverAccess,
    metadata: atRoot('identity'),
    user: atRoot('identity'),
    safety_identifier: atRoot('identity'),
    prompt_cache_key: atRoot('identity'),
    client_metadata: atRoot('identity'),
  },
  names: new Set([
    ...['id', 'call_id', 'item_id', 'response_id', 'approval_request_id', 'container_id', 'vector_store_ids'],
    ...['caller_id', 'connector_id', 'skill_id', 'file_ids', 'safety_check_id', 'tunnel_id'],
    ...['input', 'instructions', 'content', 'text', 'refusal', 'output', 'tools', 'description', 'grammar'],
    ...['reasoning', 'action', 'actions', 'query', 'queries', 'sources', 'results', 'outputs', 'logs'],
    ...['code', 'command', 'commands', 'env', 'operation', 'diff', 'path', 'stdout', 'stderr', 'outcome'],
    ...['annotations', 'logprobs', 'title', 'filename', 'quote', 'reason', 'error', 'message', 'keys'],
    ...['pattern', 'working_directory', 'input_audio', 'prompt', 'variables', 'filters', 'key', 'value'],
    ...['user_location', 'city', 'country', 'region', 'timezone', 'server_description', 'skills', 'files'],
    ...['strict', 'stream', 'stream_options', 'store', 'temperature', 'top_p', 'top_logprobs', 'attributes'],
    ...['max_output_tokens', 'max_tool_calls', 'parallel_tool_calls', 'context_management', 'approve'],
    ...['cache_control', 'plugins', 'transcript', 'start_index', 'end_index', 'index', 'score', 'token'],
    ...['allowed_domains', 'blocked_domains', 'image', 'prompt_cache_options', 'access_programs', 'caller'],
  ]),
  kindOf: (place, member) => {
    if (place.isRoot) return systemMembers.has(member) ? 'system' : null;
    if (place.memberName !== 'input' || place.owner?.isRoot !== true || place.isList) return null;
    return kindInItem(place, member);
  },
  isOfModel: (place) => {
    const type = place.sign('type');
    return place.sign('role') === 'assistant' || (type !== '' && !clientItems.test(type));
  },
  isSigned: (place) => place.sign('type') === 'reasoning' && isSealed(place.sign('encrypted_content')),
  isSignedText: ({ element, parent, root }, member) =>
    member === 'text' &&
    parent?.isList === true &&
    (parent.name === 'summary' || parent.name === 'content') &&
    parent.parent === element &&
    element?.isElementOf(root, 'input') === true &&
    element.sign('role') === '' &&
    request.isSigned(element),
  isThought,
  unsigned: 'null',
  unrepeated: '[]',
  isUnreadable,
};

/** Whether a text is of an item of reasoning, or of an event about one. */
function isThought(place: TextPlace): boolean {
  for (let at: TextPlace | null = place; at !== null; at = at.parent)
    if (/^(?:response\.)?reasoning/.test(at.sign('type'))) return true;
  return false;
}

const citing: ReadonlySet<string> = new Set(['annotations', 'annotation', 'results']);

/** Members of an answer from its request. */
const repeatedMembers = ['instructions', 'tools', 'tool_choice', 'text', 'prompt', 'usage'];

/** All of them, with the identifying ones. */
const clientMembers = [
  ...[...repeatedMembers, 'metadata', 'user', 'safety_identifier', 'prompt_cache_key', 'client_metadata'],
];

/** The texts of whole answers. Instructions and tools in them are those of the request. */
const answer: TextRules = {
  ...request,
  list: '',
  kind: 'answer',
  members: {
    ...request.members,
    ...reads('word', ['object']),
    logprobs: 'repeat',
    ...Object.fromEntries(repeatedMembers.map((name) => [name, atRoot('identity')])),
  },
  names: new Set([...request.names, 'usage', 'error', 'incomplete_details', 'created_at']),
  citations: {
    offsets: new Set(['start_index', 'end_index']),
    unit: 'points',
    textKey: (place) => `${place.parent?.owner?.key ?? ''}.text`,
  },
  kindOf: (place, member) => {
    if (place.memberName !== 'output' || place.owner?.isRoot !== true || place.isList) return null;
    const type = place.sign('type');
    if (type.endsWith('_call') && resultMembers.has(member)) return 'tool_result';
    return isCall({ type }) ? 'tool_call' : null;
  },
  isSignedText: () => false,
  isUnreadable: () => false,
};

const systemMembers: ReadonlySet<string> = new Set(['tools', 'instructions']);

/** Members of a call with its result. */
const resultMembers: ReadonlySet<string> = new Set(['output', 'outputs', 'results', 'result']);

function kindInItem(item: TextPlace, member: string): 'system' | 'tool_result' | null {
  const [type, role] = [item.sign('type'), item.sign('role')];
  if (/_output$/.test(type)) return 'tool_result';
  // A call of the provider's tool has its result beside it.
  if (type.endsWith('_call') && resultMembers.has(member)) return 'tool_result';
  return type === 'additional_tools' || role === 'system' || role === 'developer' ? 'system' : null;
}

/** Access to a server of MCP. */
function serverAccess(around: TextPlace): 'identity' | 'text' {
  return around.sign('type') === 'mcp' || around.memberName === 'tools' ? 'identity' : 'text';
}

const clientTools: ReadonlySet<string> = new Set([
  ...[
    '',
    'function',
    'custom',
    'namespace',
    'local_shell',
    'apply_patch',
    'computer',
    'computer_use_preview',
  ],
]);

function isUnreadable(place: TextPlace): boolean {
  return place.memberName === 'tools' ? !clientTools.has(place.sign('type')) : place.memberName === 'plugins';
}

export const texts: TextFormat = { request, answer, frame: frameRules(answer, clientMembers) };
