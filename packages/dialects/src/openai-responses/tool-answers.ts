import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { JoinedAnswers } from '../joined-answers.ts';
import { calledName, isCall } from './items.ts';
import { AssistantItems } from './assistant-items.ts';

export class ResponseToolAnswers extends JoinedAnswers {
  protected override read({ output, status }: Fields): AssistantItems | null {
    return Array.isArray(output) ? AssistantItems.of(listOf(output).filter(isFields)).ended(status) : null;
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const output = listOf(answer['output']);
    const remaining = output.filter((item) => !isCall(item) || !this.isOwn(calledName(item)));
    return { answer: { ...answer, output: remaining }, isSame: remaining.length === output.length };
  }
}
