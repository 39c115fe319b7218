import { openBrace, openBracket, quote, skipSpace } from '@gatehouse/kit/json-bytes';
import { appendTo, applyChanges, type Changes, type Edit } from '../wire/json-edits.ts';
import { elementsOf, elementStart, objectMembers, type Member } from '../wire/json-members.ts';
import { parametersIn, type ToolRewrite } from '../request-additions.ts';
import type { Rewrite } from '../dialect.ts';
import { numberOf } from './fields.ts';
import { elementsAt, membersAt, named, rewriteAdded, rewriteHistory } from './history-rewrite.ts';
import type { HistoryPart } from './history.ts';
import type { Pieces } from '../wire/pieces.ts';

/** `history`: the parts of the model's contents which may have to change. */
export type HistoryRewrite = Rewrite & { history: readonly HistoryPart[] };

/**
 * Applies the rewrite to the source text of a request, a valid JSON object. Its members may be given where they are
 * known.
 */
export function rewriteRequest(
  body: Buffer,
  rewrite: HistoryRewrite,
  members: readonly Member[] = objectMembers(body),
): Pieces {
  const changes: Changes = { edits: [], added: [] };
  const { edits } = changes;
  for (const member of named(members, 'model')) renameModel(body, member, rewrite.model, edits);
  const [contents] = named(members, 'contents').slice(-1);
  if (rewrite.isTranslated !== true && contents !== undefined)
    edits.push(...rewriteHistory(body, contents, { history: rewrite.history, rewrite }));
  if (rewrite.systemPrompt !== null) addSystem(body, members, rewrite.systemPrompt, changes);
  if (rewrite.reference !== null) addReference(body, members, rewrite.reference, edits);
  if (rewrite.tools !== null) addTools(body, members, { ...rewrite, tools: rewrite.tools }, changes);
  addConfig(body, members, rewrite, changes);
  return applyChanges(body, members, changes);
}

/** The model stands in the path. A server must not take another one from the body. */
export function renameModel(
  body: Buffer,
  { valueStart: at, valueEnd: until }: Member,
  model: string,
  edits: Edit[],
): void {
  const isResource = body.toString('utf8', at, until).startsWith('"models/');
  edits.push({ at, until, text: JSON.stringify(isResource ? `models/${model}` : model) });
}

/** Puts the agent's prompt before the instruction of the client. */
function addSystem(
  body: Buffer,
  members: readonly Member[],
  prompt: string,
  { edits, added }: Changes,
): void {
  const part = textPart(prompt);
  const parts = `"parts":[${part}]`;
  const instructions = named(members, 'systemInstruction');
  if (instructions.length === 0) added.push(`"systemInstruction":{${parts}}`);
  for (const place of instructions) {
    const { valueStart, valueEnd } = place;
    if (body[valueStart] === quote) {
      edits.push({ at: valueStart, until: valueStart, text: `{"parts":[${part},{"text":` });
      edits.push({ at: valueEnd, until: valueEnd, text: '}]}' });
      continue;
    }
    const partsMembers = named(membersAt(body, valueStart), 'parts');
    if (partsMembers.length === 0) addMembers(body, place, [parts], edits);
    for (const list of partsMembers) prependTo(body, list, part, edits);
  }
}

/**
 * Puts a part before the first text of a content of the user. The index is of the list as `JSON.parse` takes it: the
 * last one.
 */
function addReference(
  body: Buffer,
  members: readonly Member[],
  { index, content }: { index: number; content: string },
  edits: Edit[],
): void {
  const [contents] = named(members, 'contents').slice(-1);
  const from = contents?.valueStart ?? 0;
  const start = body[from] === openBracket ? elementStart(body, from, index) : from;
  const [parts] = named(membersAt(body, start), 'parts').slice(-1);
  if (parts === undefined) return;
  if (body[parts.valueStart] !== openBracket) {
    prependTo(body, parts, textPart(content), edits);
    return;
  }
  for (const at of elementsOf(body, parts.valueStart)) {
    if (!isSpoken(body, at)) continue;
    edits.push({ at, until: at, text: `${textPart(content)},` });
    return;
  }
}

/** Whether the value at a place is a part with a text other than a thought. */
function isSpoken(body: Buffer, at: number): boolean {
  const members = membersAt(body, at);
  const [text] = named(members, 'text').slice(-1);
  const [thought] = named(members, 'thought').slice(-1);
  const isThought =
    thought !== undefined && body.toString('latin1', thought.valueStart, thought.valueEnd) === 'true';
  return text !== undefined && body[text.valueStart] === quote && !isThought;
}

function textPart(text: string): string {
  return JSON.stringify({ text });
}

function addTools(
  body: Buffer,
  members: readonly Member[],
  {
    tools: { definitions, messages, choice },
    model,
    rulesName,
    isTranslated,
  }: Rewrite & { tools: ToolRewrite },
  { edits, added }: Changes,
): void {
  const toolMembers = named(members, 'tools');
  if (toolMembers.length === 0) added.push(['"tools":[{"functionDeclarations":[', definitions, ']}]']);
  for (const member of toolMembers) {
    const declared = declarationsIn(body, member);
    if (declared !== null) addTo(body, declared, definitions, edits);
    else addTo(body, member, Buffer.concat([declarationsStart, definitions, declarationsEnd]), edits);
  }
  const [list] = named(members, 'contents').slice(-1);
  if (list !== undefined && messages.length > 0)
    addTo(
      body,
      list,
      isTranslated === true ? messages.join(',') : rewriteAdded(messages, { model, rulesName }),
      edits,
    );
  if (choice !== null) addChoice(body, members, `{"mode":"${choice.toUpperCase()}"}`, { edits, added });
}

const declarationsStart = Buffer.from('{"functionDeclarations":[');
const declarationsEnd = Buffer.from(']}');

/** The declarations of the first tool with any: the API takes functions of one tool only. */
function declarationsIn(body: Buffer, { valueStart }: Member): Member | null {
  for (const at of elementsAt(body, valueStart)) {
    const [declarations] = named(membersAt(body, at), 'functionDeclarations').slice(-1);
    if (declarations !== undefined) return declarations;
  }
  return null;
}

function addChoice(body: Buffer, members: readonly Member[], mode: string, { edits, added }: Changes): void {
  const config = `"functionCallingConfig":${mode}`;
  const configs = named(members, 'toolConfig');
  if (configs.length === 0) added.push(`"toolConfig":{${config}}`);
  for (const place of configs) {
    const callingConfig = named(membersAt(body, place.valueStart), 'functionCallingConfig');
    if (callingConfig.length === 0) addMembers(body, place, [config], edits);
    for (const { valueStart: at, valueEnd: until } of callingConfig) edits.push({ at, until, text: mode });
  }
}

/** Adds the agent's parameters, except for those in the client's request, and lowers the limit of the answer. */
function addConfig(
  body: Buffer,
  members: readonly Member[],
  { defaults, maxTokens }: Rewrite,
  { edits, added }: Changes,
): void {
  const most = maxTokens?.most ?? Infinity;
  const fields = Object.entries(parametersIn(parameterNames, defaults));
  const parameters = fields.map(([name, value]) => ({
    name,
    value: name === limitName ? Math.min(Number(value), most) : value,
  }));
  if (maxTokens !== null && !parameters.some(({ name }) => name === limitName))
    parameters.push({ name: limitName, value: most });
  const textsFor = (callingMembers: readonly Member[]): string[] =>
    parameters
      .filter(({ name }) => named(callingMembers, name).length === 0)
      .map(({ name, value }) => `"${name}":${JSON.stringify(value)}`);
  const configs = named(members, 'generationConfig');
  if (configs.length === 0 && parameters.length > 0)
    added.push(`"generationConfig":{${textsFor([]).join(',')}}`);
  for (const place of configs) {
    const configMembers = membersAt(body, place.valueStart);
    for (const { valueStart: at, valueEnd: until } of maxTokens === null
      ? []
      : named(configMembers, limitName)) {
      const requested = numberOf(JSON.parse(body.toString('utf8', at, until))) ?? -1;
      if (!(requested >= 0 && requested < most)) edits.push({ at, until, text: String(most) });
    }
    addMembers(body, place, textsFor(configMembers), edits);
  }
}

/** An agent's parameters as fields of `generationConfig`. */
export const parameterNames = {
  ...{ max_tokens: 'maxOutputTokens', stop: 'stopSequences', temperature: 'temperature', top_p: 'topP' },
  seed: 'seed',
};
const limitName = parameterNames.max_tokens;

/** Adds members to an object, or puts an object in the place of null. */
function addMembers(body: Buffer, place: Member, texts: readonly string[], edits: Edit[]): void {
  const { valueStart, valueEnd } = place;
  if (texts.length === 0) return;
  const text = texts.join(',');
  if (body[valueStart] !== openBrace) {
    edits.push({ at: valueStart, until: valueEnd, text: `{${text}}` });
    return;
  }
  const last = membersAt(body, valueStart).at(-1);
  const at = last?.valueEnd ?? valueStart + 1;
  edits.push({ at, until: at, text: last === undefined ? text : `,${text}` });
}

/** Adds elements at the end of a list, of which a single one may stand without its brackets. */
function addTo(body: Buffer, member: Member, elements: string | Buffer, edits: Edit[]): void {
  const { valueStart, valueEnd } = member;
  if (body[valueStart] !== openBrace) {
    appendTo(body, member, elements, edits);
    return;
  }
  edits.push({ at: valueStart, until: valueStart, text: '[' });
  edits.push({ at: valueEnd, until: valueEnd, text: [',', elements, ']'] });
}

/** Puts an element at the beginning of a list. */
function prependTo(body: Buffer, { valueStart, valueEnd }: Member, element: string, edits: Edit[]): void {
  if (body[valueStart] === openBrace) {
    edits.push({ at: valueStart, until: valueStart, text: `[${element},` });
    edits.push({ at: valueEnd, until: valueEnd, text: ']' });
  } else if (body[valueStart] === openBracket) {
    const at = valueStart + 1;
    const isEmpty = skipSpace(body, at) === valueEnd - 1;
    edits.push({ at, until: at, text: isEmpty ? element : `${element},` });
  } else edits.push({ at: valueStart, until: valueEnd, text: `[${element}]` });
}
