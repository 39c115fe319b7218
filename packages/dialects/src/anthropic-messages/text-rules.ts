import {
  atRoot,
  isSealed,
  reads,
  type FrameRules,
  type Reading,
  type TextFormat,
  type TextPlace,
  type TextRules,
} from '../text-view/text-rules.ts';

/** The texts of requests for messages. */
const request: TextRules = {
  list: 'messages',
  kind: 'user',
  members: {
    ...reads('word', [
      ...[
        'model',
        'role',
        'type',
        'media_type',
        'stop_reason',
        'error_code',
        'service_tier',
        'speed',
        'effort',
      ],
      ...['ttl', 'display', 'container', 'thread', 'inference_geo', 'betas', 'file_type', 'version', 'keep'],
      ...['retrieved_at', 'allowed_callers', 'scope', 'fallback_credit_token'],
    ]),
    ...reads('fixed', ['name', 'server_name', 'tool_name', 'mcp_server_name', 'toolset_name']),
    ...reads('schema', ['input_schema', 'schema']),
    ...reads('sealed', ['signature', 'encrypted_content', 'encrypted_index', 'encrypted_stdout']),
    // A citation names a file beside its text.
    file_id: ({ memberName }) => (/^citations?$/.test(memberName) ? 'word' : 'data'),
    input: 'values',
    input_examples: 'values',
    data: dataReading,
    url: (around) => (around.signs('type').includes('url') ? 'file' : 'text'),
    authorization_token: ({ memberName }) => (memberName === 'mcp_servers' ? 'identity' : 'text'),
    metadata: atRoot('identity'),
    user_profile_id: atRoot('identity'),
    workspace_id: atRoot('identity'),
  },
  names: new Set([
    ...['id', 'tool_use_id', 'skill_id', 'tool_id', 'tab_id', 'document_ids', 'previous_message_id'],
    ...['messages', 'system', 'content', 'text', 'thinking', 'source', 'title', 'context', 'citations'],
    ...['cited_text', 'document_title', 'tools', 'description', 'stop_sequences', 'tool_choice', 'is_error'],
    ...['mcp_servers', 'output_config', 'output_format', 'format', 'cache_control', 'stdout', 'stderr'],
    ...['tool_references', 'tool', 'definition', 'page_age', 'lines', 'error_message', 'tool_configuration'],
    ...['allowed_tools', 'allowed_domains', 'blocked_domains', 'user_location', 'city', 'country', 'region'],
    ...['timezone', 'context_management', 'edits', 'instructions', 'compaction', 'skills'],
    ...['max_tokens', 'temperature', 'top_k', 'top_p', 'stream', 'budget_tokens', 'enabled', 'strict'],
    ...['plugins', 'fallbacks', 'caller', 'diagnostics', 'old_str', 'new_str', 'insert_text', 'file_text'],
  ]),
  kindOf: (place, member) => {
    if (place.isRoot) return member === 'system' || member === 'tools' ? 'system' : null;
    if (/tool_result$/.test(place.sign('type'))) return 'tool_result';
    return place.memberName === 'messages' && place.sign('role') === 'system' ? 'system' : null;
  },
  isOfModel: (place) => place.sign('role') === 'assistant',
  isTurnText: (place, member) =>
    place === place.element
      ? member === 'content'
      : member === 'text' && place.sign('type') === 'text' && place.isElementOf(place.element, 'content'),
  isSigned: (place) => place.sign('type') === 'thinking' && isSealed(place.sign('signature')),
  isSignedText: (place, member) =>
    member === 'thinking' && place.isPartOfModel('content', request) && request.isSigned(place),
  isThought: (_, member) => member === 'thinking',
  unsigned: '""',
  unrepeated: 'null',
  isUnreadable,
};

/** The texts of whole answers. */
const answer: TextRules = {
  ...request,
  list: '',
  kind: 'answer',
  members: { ...request.members, usage: atRoot('identity') },
  names: new Set([...request.names, 'usage', 'error', 'explanation', 'stop_details', 'stop_sequence']),
  kindOf: (place) => {
    const type = place.sign('type');
    return /tool_result$/.test(type) ? 'tool_result' : type === 'tool_use' ? 'tool_call' : null;
  },
  isSignedText: () => false,
  isUnreadable: () => false,
};

function dataReading(around: TextPlace): Reading {
  if (around.signs('type').includes('base64')) return 'file';
  return around.sign('type') === 'redacted_thinking' ? 'sealed' : 'text';
}

/** Tools of clients: with a schema, or known to the model by their type. */
const clientTools = /^(?:custom|(?:bash|text_editor|computer|memory)_\d+)?$/;

function isUnreadable(place: TextPlace): boolean {
  if (place.owner?.isRoot !== true) return false;
  if (place.memberName === 'tools') return !clientTools.test(place.sign('type'));
  return place.memberName === 'mcp_servers' || place.memberName === 'plugins';
}

/** The texts of events. */
const frame: FrameRules = {
  ...answer,
  members: {
    ...answer.members,
    partial_json: 'text',
    usage: ({ name, isRoot }) => (isRoot || name === 'message' ? 'identity' : 'text'),
  },
  names: new Set([...answer.names, 'message', 'index', 'content_block', 'delta', 'partial_json', 'citation']),
  isSigned: (place) => answer.isSigned(place) || place.sign('type') === 'signature_delta',
  channelOf: ({ place, member, key }) => {
    const block = blockKey(place.root);
    if (key.startsWith('content_block.')) return { key: block + key.slice('content_block'.length) };
    if (member === 'partial_json') return { key: `${block}.input`, isJson: true, kindKey: `${block}.name` };
    if (key.startsWith('delta.citation.')) return { key, isApart: true };
    if (place.root.sign('type') === 'content_block_delta') return { key: block + key.slice('delta'.length) };
    return { key: key.startsWith('message.') ? key.slice('message.'.length) : key };
  },
  endedKeys: (place) =>
    place.isRoot && place.sign('type') === 'content_block_stop' ? blockKey(place) : null,
  signedKeys: ({ root }) => [`${blockKey(root)}.thinking`],
};

function blockKey(root: TextPlace): string {
  return `content[${root.sign('index')}]`;
}

export const texts: TextFormat = { request, answer, frame };
