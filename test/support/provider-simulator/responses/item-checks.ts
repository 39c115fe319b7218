import { RefusedRequest } from '../errors.ts';
import type { ThinkingSigner } from '../messages/thinking-signer.ts';
import { entriesIn, isObject } from '../values.ts';
import type { JsonObject } from '../values.ts';
import { list, nullable, oneOf, shortText, text } from './field-checks.ts';
import { invalid, missing, wrongType } from './refusals.ts';
import { isGenuine } from './sealed-content.ts';
import type { SealedType } from './sealed-content.ts';
import { checkTools } from './tool-checks.ts';

type ItemCheck = (item: JsonObject, param: string, signer: ThinkingSigner) => void;

/** The types of items, with checks of those that the simulator reads. */
const itemChecks: Record<string, ItemCheck | null> = {
  message: checkMessage,
  function_call: (item, param) => checkCall(item, param, 'arguments'),
  function_call_output: checkOutput,
  custom_tool_call: (item, param) => checkCall(item, param, 'input'),
  custom_tool_call_output: checkOutput,
  reasoning: checkReasoning,
  additional_tools: checkAdditionalTools,
  item_reference: ({ id }) => {
    throw notStored(String(id));
  },
  compaction: checkCompaction,
  compaction_trigger: null,
  web_search_call: null,
  file_search_call: null,
  computer_call: null,
  computer_call_output: null,
  tool_search_call: null,
  tool_search_output: null,
  configuration_update: null,
  image_generation_call: null,
  code_interpreter_call: null,
  local_shell_call: null,
  local_shell_call_output: null,
  shell_call: null,
  shell_call_output: null,
  apply_patch_call: null,
  apply_patch_call_output: null,
  mcp_list_tools: null,
  mcp_approval_request: null,
  mcp_approval_response: null,
  mcp_call: null,
};

/** The beginnings of ids, by the type of the item. */
const idPrefixes: Record<string, string> = {
  message: 'msg',
  function_call: 'fc',
  custom_tool_call: 'ctc',
  reasoning: 'rs',
};

/** The types of content, by the role of the message. */
const inputParts = ['input_text', 'input_image', 'input_file', 'input_audio'];
const partTypes: Record<string, string[]> = {
  user: inputParts,
  system: inputParts,
  developer: inputParts,
  assistant: ['output_text', 'refusal'],
};

/** The items of an input; a text is a message of the user. @throws RefusedRequest for those that OpenAI refuses. */
export function readItems(input: unknown, signer: ThinkingSigner): JsonObject[] {
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  return entriesIn(input).map((item, index) => {
    const param = `input[${index}]`;
    if (!isObject(item)) throw wrongType(param, 'an object', item);
    // A message needs no type.
    const type = item['type'] ?? (item['role'] === undefined ? undefined : 'message');
    if (type === undefined) throw missing(`${param}.type`);
    text(type, `${param}.type`);
    oneOf(...Object.keys(itemChecks))(type, `${param}.type`);
    const typed = { ...item, type };
    checkId(typed, `${param}.id`);
    itemChecks[type]?.(typed, param, signer);
    return typed;
  });
}

function checkId({ id, type }: JsonObject, param: string): void {
  if (id === undefined || id === null) return;
  text(id, param);
  shortText(64)(id, param);
  const prefix = idPrefixes[String(type)];
  if (prefix === undefined || id.startsWith(prefix)) return;
  throw invalid(param, `'${id}'. Expected an ID that begins with '${prefix}'.`);
}

function checkMessage(item: JsonObject, param: string): void {
  const { role, content } = item;
  if (role === undefined) throw missing(`${param}.role`);
  text(role, `${param}.role`);
  oneOf('assistant', 'system', 'developer', 'user')(role, `${param}.role`);
  if (content === undefined) throw missing(`${param}.content`);
  if (typeof content !== 'string') checkParts(content, `${param}.content`, partTypes[role] ?? []);
}

function checkParts(parts: unknown, param: string, types: string[]): void {
  if (!Array.isArray(parts)) throw wrongType(param, 'one of an array of objects or string', parts);
  for (const [index, part] of entriesIn(parts).entries()) {
    const place = `${param}[${index}]`;
    if (!isObject(part)) throw wrongType(place, 'an object', part);
    if (part['type'] === undefined) throw missing(`${place}.type`);
    oneOf(...types)(part['type'], `${place}.type`);
    if (part['type'] === 'input_text' || part['type'] === 'output_text') {
      if (part['text'] === undefined) throw missing(`${place}.text`);
      text(part['text'], `${place}.text`);
    }
  }
}

function checkCall(item: JsonObject, param: string, field: 'arguments' | 'input'): void {
  for (const name of ['call_id', 'name', field]) {
    if (item[name] === undefined) throw missing(`${param}.${name}`);
    (name === 'call_id' ? shortText(64) : text)(item[name], `${param}.${name}`);
  }
  nullable(text)(item['namespace'] ?? null, `${param}.namespace`);
}

function checkOutput(item: JsonObject, param: string): void {
  if (item['call_id'] === undefined) throw missing(`${param}.call_id`);
  shortText(64)(item['call_id'], `${param}.call_id`);
  const { output } = item;
  if (output === undefined) throw missing(`${param}.output`);
  if (typeof output !== 'string') checkParts(output, `${param}.output`, inputParts);
}

function checkReasoning(item: JsonObject, param: string, signer: ThinkingSigner): void {
  if (item['summary'] === undefined) throw missing(`${param}.summary`);
  list(item['summary'], `${param}.summary`);
  const { id, encrypted_content: encrypted } = item;
  nullable(text)(encrypted ?? null, `${param}.encrypted_content`);
  if (typeof encrypted !== 'string') throw notStored(String(id));
  checkSealed('reasoning', { id, encrypted }, signer);
}

function checkCompaction(item: JsonObject, param: string, signer: ThinkingSigner): void {
  const { id, encrypted_content: encrypted } = item;
  if (typeof encrypted !== 'string') throw missing(`${param}.encrypted_content`);
  checkSealed('compaction', { id, encrypted }, signer);
}

function checkSealed(
  type: SealedType,
  { id, encrypted }: { id: unknown; encrypted: string },
  signer: ThinkingSigner,
): void {
  if (isGenuine(signer, type, { id: typeof id === 'string' ? id : null, encrypted })) return;
  throw new RefusedRequest(
    `The encrypted content ${encrypted.slice(0, 8)}... could not be verified. Reason: Encrypted content could not be decrypted or parsed.`,
    { code: 'invalid_encrypted_content' },
  );
}

/** The error for an item by its id alone: the simulator stores none. */
function notStored(id: string): RefusedRequest {
  return new RefusedRequest(
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`,
    { status: 404, param: 'input' },
  );
}

function checkAdditionalTools(item: JsonObject, param: string): void {
  oneOf('developer')(item['role'], `${param}.role`);
  list(item['tools'], `${param}.tools`);
  checkTools(item['tools'], `${param}.tools`);
}
