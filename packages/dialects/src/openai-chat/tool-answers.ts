import { isFields, listOf, type Fields } from '@gatehouse/kit/fields';
import { JoinedAnswers } from '../joined-answers.ts';
import { callsIn, nameOf, plainCall, readMessage, type ChatAssistantMessage } from './tool-calls.ts';

export class WholeToolAnswers extends JoinedAnswers {
  protected override read(answer: Fields): ChatAssistantMessage | null {
    return readMessage(answer);
  }

  protected override withoutOwn(answer: Fields): { answer: Fields; isSame: boolean } {
    const choices = listOf(answer['choices']);
    const visible = choices.map((choice) => (isFields(choice) ? this.#choiceWithoutOwn(choice) : choice));
    const isSame = visible.every((choice, index) => choice === choices[index]);
    return { answer: { ...answer, choices: visible }, isSame };
  }

  #choiceWithoutOwn(choice: Fields): Fields {
    const { message } = choice;
    if (!isFields(message)) return choice;
    const calls = callsIn(message);
    const remaining = calls.filter((call) => !this.isOwn(nameOf(plainCall(call))));
    if (remaining.length === calls.length) return choice;
    const { tool_calls: _calls, function_call: _old, ...others } = message;
    if (remaining.length > 0) return { ...choice, message: { ...others, tool_calls: remaining } };
    return { ...choice, message: others, finish_reason: 'stop' };
  }
}
