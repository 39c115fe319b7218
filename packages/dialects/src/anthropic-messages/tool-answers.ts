import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import type { JsonSource } from '../wire/json-text.ts';
import { JoinedAnswers } from '../joined-answers.ts';
import { callsTools } from './events.ts';
import { exactInput, isCall, nameOf, SaidContent } from './said-content.ts';

export class MessageToolAnswers extends JoinedAnswers {
  protected override exact(answer: Fields, source: JsonSource): Fields {
    const { content } = answer;
    if (!Array.isArray(content) || !content.some(isCall)) return answer;
    const blocks = source.member('content');
    const exact = (content as unknown[]).map((block, index) =>
      exactInput(block, () => blocks?.element(index) ?? null),
    );
    return { ...answer, content: exact };
  }

  protected override read({ content, stop_reason: reason }: Fields): SaidContent | null {
    if (!Array.isArray(content)) return null;
    const blocks = listOf(content).filter(isFields);
    return SaidContent.of(blocks.map((fields) => ({ fields, json: '' }))).stopped(reason);
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const content = listOf(answer['content']);
    const clientContent = content.filter((block) => !isCall(block) || !this.isOwn(nameOf(block)));
    const end = callsTools(answer) && !clientContent.some(isCall) && { stop_reason: 'end_turn' };
    return {
      answer: { ...answer, content: clientContent, ...end },
      isSame: clientContent.length === content.length,
    };
  }
}
