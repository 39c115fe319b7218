import { isCall } from './items.ts';
import type { ChannelPlace, FrameRules, MemberRule, TextPlace, TextRules } from '../text-view/text-rules.ts';

/** Rules for the texts of events, from those of answers. `repeatedMembers`: of the request, in a response. */
export function frameRules(answer: TextRules, repeatedMembers: readonly string[]): FrameRules {
  return {
    ...answer,
    members: {
      ...answer.members,
      ...Object.fromEntries(repeatedMembers.map((name) => [name, inResponse])),
      arguments: 'text',
      obfuscation: 'word',
      partial_image_b64: 'data',
      delta: (around) => (around.sign('type') === 'response.audio.delta' ? 'data' : 'text'),
    },
    names: new Set([
      ...answer.names,
      ...['response', 'item', 'part', 'delta', 'annotation', 'sequence_number', 'output_index'],
      ...['content_index', 'summary_index', 'annotation_index', 'command_index', 'partial_image_index'],
    ]),
    padding: 'obfuscation',
    citations: answer.citations && {
      ...answer.citations,
      textKey: ({ name, root, parent }) =>
        name === 'annotation'
          ? `${partKey(root)}.text`
          : `${keyInResponse(root, parent?.owner?.key ?? '')}.text`,
    },
    kindOf: (place, member) => {
      if (place.isRoot)
        return callPieces.test(place.sign('type')) && member !== 'item' && member !== 'response'
          ? 'tool_call'
          : null;
      const { memberName, owner } = place;
      const isItem =
        (memberName === 'item' && owner?.isRoot === true) ||
        (memberName === 'output' && owner?.name === 'response' && owner.owner?.isRoot === true);
      return isItem && !place.isList && isCall({ type: place.sign('type') }) ? 'tool_call' : null;
    },
    channelOf: ({ place, member, key }) => channelOf(place.root, { member, key }),
    endedKeys: (place) => {
      const end = place.isRoot ? /^response\.(.+)\.done$/.exec(place.sign('type')) : null;
      return end === null ? null : (pieceKey(place, end[1] ?? '') ?? null);
    },
    signedKeys: () => [],
  };
}

/** Pieces of a call for the client. */
const callPieces = /^response\.(?:function_call_arguments|custom_tool_call_input)\./;

const inResponse: MemberRule = ({ name, owner }) =>
  name === 'response' && owner?.isRoot === true ? 'identity' : 'text';

function channelOf(root: TextPlace, { member, key }: { member: string; key: string }): ChannelPlace {
  const type = root.sign('type');
  const isDone = wholeTypes.test(type);
  const isJson = member === 'arguments';
  if (/^(?:response|item|part)\./.test(key))
    return { key: keyInResponse(root, key), isWhole: isDone, isJson };
  const [, name = '', step = ''] = /^response\.(.+)\.(delta|done|added)$/.exec(type) ?? [];
  if (key.startsWith('annotation.') || step === '') return { key: `${type}.${key}`, isApart: true };
  const piece = pieceKey(root, name) ?? `${itemKey(root)}.${name}`;
  const inPiece = key.startsWith('delta.') ? key.slice('delta'.length) : '';
  return { key: piece + inPiece, isWhole: isDone, isJson: piece.endsWith('.arguments') };
}

/** Events with whole texts. */
const wholeTypes = /^response\.(?:.+\.done|completed|incomplete|failed)$/;

/** The key of a place of an event in the response. */
function keyInResponse(root: TextPlace, key: string): string {
  const [first = ''] = key.split('.', 1);
  const rest = key.slice(first.length);
  if (first === 'response') return rest.slice(1);
  if (first === 'part') return partKey(root) + rest;
  return first === 'item' ? itemKey(root) + rest : key;
}

function itemKey(root: TextPlace): string {
  return `output[${root.sign('output_index')}]`;
}

function partKey(root: TextPlace): string {
  return root.sign('type').startsWith('response.reasoning_summary')
    ? `${itemKey(root)}.summary[${root.sign('summary_index')}]`
    : `${itemKey(root)}.content[${root.sign('content_index')}]`;
}

/** The key of a text in pieces, by the name of its events. */
function pieceKey(root: TextPlace, name: string): string | undefined {
  const partMember = Object.hasOwn(partMembers, name) ? partMembers[name] : undefined;
  if (partMember !== undefined) return `${partKey(root)}.${partMember}`;
  const itemMember = Object.hasOwn(itemMembers, name) ? itemMembers[name] : undefined;
  if (itemMember !== undefined) return `${itemKey(root)}.${itemMember}`;
  if (name === 'shell_call_command') return `${itemKey(root)}.action.commands[${root.sign('command_index')}]`;
  return undefined;
}

const partMembers: Readonly<Partial<Record<string, string>>> = {
  output_text: 'text',
  refusal: 'refusal',
  reasoning_text: 'text',
  reasoning_summary_text: 'text',
};

const itemMembers: Readonly<Partial<Record<string, string>>> = {
  function_call_arguments: 'arguments',
  mcp_call_arguments: 'arguments',
  custom_tool_call_input: 'input',
  code_interpreter_call_code: 'code',
  'audio.transcript': 'transcript',
};
