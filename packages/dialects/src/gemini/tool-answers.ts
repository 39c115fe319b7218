import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { JsonSource } from '../wire/json-text.ts';
import { JoinedAnswers } from '../joined-answers.ts';
import { calledName, partsOf } from './content.ts';
import { objectsIn } from './fields.ts';
import { exactArguments, SaidParts } from './said-parts.ts';

export class ContentToolAnswers extends JoinedAnswers {
  protected override readonly usageName = 'usageMetadata';

  protected override exact(answer: Fields, source: JsonSource): Fields {
    const [first, ...others] = listOf(answer['candidates']);
    if (!isFields(first)) return answer;
    const exact = exactArguments(first, () => source.member('candidates')?.element(0) ?? null);
    return exact === first ? answer : { ...answer, candidates: [exact, ...others] };
  }

  protected override read(answer: Fields): SaidParts | null {
    const [candidate] = objectsIn(answer, 'candidates');
    if (candidate === undefined) return null;
    return SaidParts.of(partsOf(candidate['content'])).stopped(candidate['finishReason']);
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const allCandidates = listOf(answer['candidates']);
    const candidates = allCandidates.map((each) => (isFields(each) ? withoutOwn(each, this.isOwn) : each));
    const isSame = candidates.every((each, index) => each === allCandidates[index]);
    return { answer: isSame ? answer : { ...answer, candidates }, isSame };
  }
}

/** A candidate without calls of the gateway's tools; the same if it has none. */
export function withoutOwn(candidate: Fields, isOwn: (name: string) => boolean): Fields {
  const parts = partsOf(candidate['content']);
  const clientParts = parts.filter((part) => !isOwn(calledName(part)));
  if (clientParts.length === parts.length) return candidate;
  return { ...candidate, content: { ...(candidate['content'] as Fields), parts: clientParts } };
}
