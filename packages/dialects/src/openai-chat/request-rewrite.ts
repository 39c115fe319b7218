import { closeBracket, openBracket, skipSpace } from '@gatehouse/kit/json-bytes';
import { addTools, replaceModel, limitNames, type LimitName, type TokenLimit } from '../request-additions.ts';
import type { Rewrite } from '../dialect.ts';
import { applyChanges, type Edit, type Text } from '../wire/json-edits.ts';
import { elementStart, objectMembers, type Member } from '../wire/json-members.ts';
import { filledMessages, fillMessages } from './filled-messages.ts';
import type { Pieces } from '../wire/pieces.ts';

/**
 * Applies the rewrite to the source text of a request, a valid JSON object. Its members may be given where they are
 * known.
 */
export function rewriteRequest(
  body: Buffer,
  rewrite: Rewrite,
  members: readonly Member[] = objectMembers(body),
): Pieces {
  const edits: Edit[] = [];
  const added: Text[] = [];
  replaceModel(body, members, rewrite.model, edits);
  if (rewrite.includeUsage) askForUsage(body, members, edits, added);
  if (rewrite.systemPrompt !== null) {
    const message = JSON.stringify({ role: 'system', content: rewrite.systemPrompt });
    for (const messages of members.filter((entry) => entry.name === 'messages')) {
      // The last one counts for us; an earlier one may be empty or no list at all.
      if (body[messages.valueStart] !== openBracket) continue;
      const at = messages.valueStart + 1;
      const isEmpty = body[skipSpace(body, at)] === closeBracket;
      edits.push({ at, until: at, text: isEmpty ? message : `${message},` });
    }
  }
  // The list as `JSON.parse` takes it: the last one.
  const messages = members.findLast((entry) => entry.name === 'messages');
  if (rewrite.reference !== null) {
    const { index, content } = rewrite.reference;
    const message = JSON.stringify({ role: 'user', content });
    const at = elementStart(body, messages?.valueStart ?? 0, index);
    edits.push({ at, until: at, text: `${message},` });
  }
  const { reasoningFill, tools } = rewrite;
  if (reasoningFill !== undefined && messages !== undefined)
    edits.push(...fillMessages(body, messages, reasoningFill));
  const choiceText = (choice: 'auto' | 'none'): string => `"${choice}"`;
  if (tools !== null) {
    const filled = filledMessages(tools.messages, reasoningFill);
    addTools({ body, members, choiceText }, { ...tools, messages: filled }, { edits, added });
  }
  const present = new Set(members.map((entry) => entry.name));
  const { maxTokens } = rewrite;
  let { defaults } = rewrite;
  if (maxTokens !== null) {
    const lowered = lowerLimit(body, members, { maxTokens, defaults });
    edits.push(...lowered.edits);
    defaults = lowered.defaults;
  }
  for (const [name, value] of Object.entries(defaults)) {
    if (!present.has(name) && !replaces(present, name))
      added.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  }
  return applyChanges(body, members, { edits, added });
}

function isLimitName(name: string): name is LimitName {
  return (limitNames as readonly string[]).includes(name);
}

/** Lowers the limits of the request, or else those of the defaults; adds one where there is no limit. */
function lowerLimit(
  body: Buffer,
  members: readonly Member[],
  {
    maxTokens: { most, field: name },
    defaults,
  }: { maxTokens: TokenLimit; defaults: Record<string, unknown> },
): { edits: Edit[]; defaults: Record<string, unknown> } {
  const limits = members.filter((member) => isLimitName(member.name));
  const lowered = limits.flatMap(({ valueStart: at, valueEnd: until }) => {
    const limit = Number(body.toString('latin1', at, until));
    return Number.isNaN(limit) ? [] : [{ at, until, text: String(limit > 0 && limit < most ? limit : most) }];
  });
  if (lowered.length > 0) return { edits: lowered, defaults };
  if (limits.length === 0) return { edits: [], defaults: withLimit(defaults, { most, name }) };
  // They are null, which means no limit. Providers refuse two of them.
  const edits = limits
    .filter((member) => member.name === name)
    .map(({ valueStart: at, valueEnd: until }) => ({ at, until, text: String(most) }));
  const last = limits.at(-1)?.valueEnd ?? 0;
  const added = { at: last, until: last, text: `,"${name}":${most}` };
  return { edits: edits.length > 0 ? edits : [added], defaults };
}

/** Defaults with lowered limits of their own. */
function withLimit(
  defaults: Record<string, unknown>,
  { most, name }: { most: number; name: LimitName },
): Record<string, unknown> {
  const limits = Object.entries(defaults).filter(
    ([each, value]) => isLimitName(each) && typeof value === 'number',
  );
  if (limits.length === 0) return { ...defaults, [name]: most };
  const lowered = limits.map(([each, value]) => [each, Math.min(value as number, most)] as const);
  return { ...defaults, ...Object.fromEntries(lowered) };
}

/** A client with one name of the limit overrides an agent with the other. */
function replaces(present: ReadonlySet<string>, name: string): boolean {
  return isLimitName(name) && limitNames.some((each) => present.has(each));
}

function askForUsage(body: Buffer, members: readonly Member[], edits: Edit[], added: Text[]): void {
  const options = members.findLast((entry) => entry.name === 'stream_options');
  if (options === undefined) {
    added.push('"stream_options":{"include_usage":true}');
    return;
  }
  const inner = body[options.valueStart] === 0x7b ? objectMembers(body, { from: options.valueStart }) : null;
  const usage = inner?.findLast((entry) => entry.name === 'include_usage');
  const last = inner?.at(-1);
  if (usage !== undefined) edits.push({ at: usage.valueStart, until: usage.valueEnd, text: 'true' });
  else if (last !== undefined)
    edits.push({ at: last.valueEnd, until: last.valueEnd, text: ',"include_usage":true' });
  else edits.push({ at: options.valueStart, until: options.valueEnd, text: '{"include_usage":true}' });
}
