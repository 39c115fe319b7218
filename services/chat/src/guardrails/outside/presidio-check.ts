import type { NewCheck } from '@gatehouse/contract/guardrail-checks';
import { isFields } from '@gatehouse/kit/fields';
import {
  noMatch,
  OutsideFailure,
  type Answer,
  type OutsideCheck,
  type Question,
  type TextMatch,
  type TextVerdict,
} from './outside-check.ts';
import { askServer, type ServerEgress } from './server-call.ts';

interface Entity {
  entity_type: string;
  /** In code points, like `end`. */
  start: number;
  end: number;
  score: number;
}

/** Names, places and more, by the analyzer of Presidio (https://microsoft.github.io/presidio/api-docs/api-docs.html). */
export class PresidioCheck implements OutsideCheck {
  readonly #check: Extract<NewCheck, { type: 'presidio' }>;
  readonly #egress: ServerEgress;

  constructor(check: Extract<NewCheck, { type: 'presidio' }>, egress: ServerEgress) {
    this.#check = check;
    this.#egress = egress;
  }

  async ask({ texts, run: { tenantId }, signal }: Question): Promise<Answer> {
    const { url, auth, entities, language, min_score: minScore } = this.#check;
    // The analyzer fails for an empty text.
    const sentTexts = texts.map(({ text }) => text).filter((text) => text.trim() !== '');
    if (sentTexts.length === 0) return { verdicts: texts.map(() => noMatch), costPico: 0n };
    const [only] = sentTexts;
    const body = {
      text: sentTexts.length === 1 ? only : sentTexts,
      ...{ language, score_threshold: minScore },
      ...(entities.length > 0 && { entities }),
    };
    const answer = await askServer(this.#egress, {
      ...{ tenantId, url, auth, body, signal },
      path: '/analyze',
    });
    const lists = listsIn(answer, sentTexts.length);
    const verdicts = texts.map(({ text }) =>
      text.trim() === '' ? noMatch : verdictOf(text, lists.shift() ?? [], minScore),
    );
    return { verdicts, costPico: 0n };
  }
}

/** The matches of each text. The answer to one text is a list of them; to several, a list of lists. */
function listsIn(answer: unknown, texts: number): Entity[][] {
  const lists = texts === 1 ? [answer] : answer;
  if (!Array.isArray(lists) || lists.length !== texts || !lists.every(isEntityList))
    throw new OutsideFailure('malformed');
  return [...lists];
}

/** Checked by hand: 1 MiB has 15,000 matches, for which a schema takes longer than the event loop may be held. */
function isEntityList(list: unknown): list is Entity[] {
  return Array.isArray(list) && list.every(isEntity);
}

function isEntity(value: unknown): value is Entity {
  if (!isFields(value)) return false;
  const { entity_type: type, start, end, score } = value;
  return (
    typeof type === 'string' &&
    /^[A-Za-z0-9_-]{1,64}$/.test(type) &&
    Number.isInteger(start) &&
    Number.isInteger(end) &&
    typeof score === 'number'
  );
}

function verdictOf(text: string, entities: readonly Entity[], minScore: number): TextVerdict {
  const offsets = utf16Offsets(text);
  const places = entities
    .filter(({ score }) => score >= minScore)
    .map(({ entity_type: type, start, end }): TextMatch => {
      const [from, until] = [offsets(start), offsets(end)];
      if (from === undefined || until === undefined || from >= until) throw new OutsideFailure('malformed');
      return { type, from, until };
    });
  return places.length === 0 ? noMatch : { outcome: 'places', matches: places };
}

/** The offset in UTF-16 units of one in code points; undefined beyond the end. */
function utf16Offsets(text: string): (codePoints: number) => number | undefined {
  const starts = new Uint32Array(text.length + 1);
  let points = 0;
  for (let at = 0; at < text.length; at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1)
    starts[points++] = at;
  starts[points] = text.length;
  return (offset) => (offset <= points ? starts[offset] : undefined);
}
