import { openBrace, openBracket } from '@gatehouse/kit/json-bytes';
import type { Rewrite } from '../dialect.ts';
import { factsOf } from '../model-facts.ts';
import { signatureFilter, standIn, type ReasoningFilter } from '../marked-signatures.ts';
import { applyEdits, removeFrom, type Edit } from '../wire/json-edits.ts';
import { elementsOf, objectMembers, type Member } from '../wire/json-members.ts';
import { isNamed } from './fields.ts';
import { historyOf, type HistoryPart, type PartPlace } from './history.ts';

type HistoryRewrite = Pick<Rewrite, 'model' | 'rulesName'> & ReasoningFilter;
type Place = Pick<Member, 'valueStart' | 'valueEnd'>;

/** Changes of one content, by the places of its parts. */
interface ContentChanges {
  removed: Set<number>;
  /** Parts with the stand-in in place of their signature. */
  signed: Set<number>;
}

/**
 * Changes the model's contents of a request for Google: takes out keep-alives and the thoughts of another origin,
 * replaces their signatures by the stand-in, and puts it on calls of other models.
 */
export function rewriteHistory(
  body: Buffer,
  contents: Place,
  { history, rewrite }: { history: readonly HistoryPart[]; rewrite: HistoryRewrite },
): Edit[] {
  const { edits, emptied, count } = changedContents(body, contents, changesOf(history, rewrite));
  if (emptied.size === 0) return edits;
  if (emptied.size < count) {
    removeFrom(body, contents, emptied, edits);
    return edits;
  }
  // A request must have a content.
  return changedContents(body, contents, changesOf(history, rewrite, { removes: false })).edits;
}

function changedContents(
  body: Buffer,
  contents: Place,
  changes: ReadonlyMap<number, ContentChanges>,
): { edits: Edit[]; emptied: Set<number>; count: number } {
  const edits: Edit[] = [];
  const emptied = new Set<number>();
  let count = 0;
  if (changes.size === 0) return { edits, emptied, count };
  for (const at of elementsAt(body, contents.valueStart)) {
    const changed = changes.get(count);
    count += 1;
    const [list] = changed === undefined ? [] : named(membersAt(body, at), 'parts').slice(-1);
    if (changed === undefined || list === undefined) continue;
    const starts = [...elementsAt(body, list.valueStart)];
    if (changed.removed.size === starts.length) {
      emptied.add(count - 1);
      continue;
    }
    for (const place of changed.signed) edits.push(...standInAt(membersAt(body, starts[place] ?? 0)));
    if (changed.removed.size > 0) removeFrom(body, list, changed.removed, edits);
  }
  return { edits, emptied, count };
}

/** The same for the contents that the gateway adds, each a JSON text. */
export function rewriteAdded(contents: readonly string[], rewrite: HistoryRewrite): Buffer {
  const list = Buffer.from(`[${contents.join(',')}]`);
  const history = historyOf(JSON.parse(list.toString()));
  const edits = rewriteHistory(list, { valueStart: 0, valueEnd: list.length }, { history, rewrite });
  return applyEdits(list, edits).whole.subarray(1, -1);
}

/** `removes`: whether parts may be taken out. */
function changesOf(
  history: readonly HistoryPart[],
  rewrite: HistoryRewrite,
  { removes = true } = {},
): ReadonlyMap<number, ContentChanges> {
  const changes = new Map<number, ContentChanges>();
  const change = (kind: keyof ContentChanges, { content, part }: PartPlace): void => {
    const changed = changes.get(content) ?? { removed: new Set(), signed: new Set() };
    changes.set(content, changed);
    changed[kind].add(part);
  };
  const signsCalls = factsOf({ name: rewrite.model, rulesName: rewrite.rulesName }).checksCallSignatures;
  const signatures = history.flatMap((part) => (part.kind === 'signed' ? part.signatures : []));
  const keeps = signatureFilter(signatures, rewrite);
  for (const part of history) {
    if (part.kind === 'unsigned-call') {
      if (signsCalls) change('signed', part);
    } else if (part.kind === 'keep-alive') {
      if (removes) change('removed', part);
    } else if (!part.signatures.every(keeps)) {
      change(part.isBare && removes ? 'removed' : 'signed', part);
      if (removes) for (const thought of part.thoughts) change('removed', thought);
    }
  }
  return changes;
}

/** Puts the stand-in in a part. */
function standInAt(members: readonly Member[]): Edit[] {
  const signatures = named(members, 'thoughtSignature');
  if (signatures.length > 0)
    return signatures.map(({ valueStart: at, valueEnd: until }) => ({ at, until, text: `"${standIn}"` }));
  const at = members.at(-1)?.valueEnd ?? 0;
  return [{ at, until: at, text: `,"thoughtSignature":"${standIn}"` }];
}

/** The starts of a list's elements; a single one may stand without its brackets. */
export function elementsAt(body: Buffer, at: number): Iterable<number> {
  return body[at] === openBracket ? elementsOf(body, at) : body[at] === openBrace ? [at] : [];
}

/** Members with this name in either spelling. Parsers differ in which of two they take, so each is edited. */
export function named(members: readonly Member[], name: string): Member[] {
  return members.filter((member) => isNamed(member.name, name));
}

/** The members of the object at a place; empty for any other value. */
export function membersAt(body: Buffer, at: number): readonly Member[] {
  return body[at] === openBrace ? objectMembers(body, { from: at }) : [];
}
