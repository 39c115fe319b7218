import type { Fields } from '@gatehouse/kit/fields';
import type { Answer, AnswerPart, Stop, StopReason } from '../translation/answer.ts';
import { fittingId, messagesIds } from '../translation/call-ids.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import { writeJson } from '../wire/json-text.ts';
import { markedSignature } from '../translation/signatures.ts';
import { inputOf } from './content-writer.ts';
import { writeUsage } from './usage.ts';

const stopReasons: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  calls: 'tool_use',
  sequence: 'stop_sequence',
  refusal: 'refusal',
  context: 'model_context_window_exceeded',
  pause: 'pause_turn',
};

/** See `AnswerApi`. */
export function writeAnswer({ id, model, parts, stop, usage, serviceTier }: Answer): string {
  return writeJson({
    ...{ id: idOf(id), type: 'message', role: 'assistant', model },
    content: parts.flatMap(blockOf),
    ...stopFields(stop),
    usage: { ...writeUsage(usage), ...(serviceTier !== null && { service_tier: serviceTier }) },
  });
}

export function stopFields({ reason, sequence }: Stop): Fields {
  const stop_details = reason === 'refusal' ? { type: 'refusal', category: null, explanation: null } : null;
  return {
    stop_reason: stopReasons[reason],
    stop_sequence: sequence,
    ...(stop_details !== null && { stop_details }),
  };
}

function blockOf(part: AnswerPart): Fields[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ type: 'text', text: part.text }];
    case 'thinking':
      return [{ type: 'thinking', thinking: part.text, signature: signatureOf(part.signature) }];
    case 'call': {
      const { id, name, argumentsText } = part;
      return [{ type: 'tool_use', id: fittingId(id, messagesIds), name, input: inputOf(argumentsText) }];
    }
  }
}

export function signatureOf(signature: ReasoningSignature | null): string {
  return signature === null ? '' : markedSignature(signature);
}

export function idOf(id: string): string {
  return id.startsWith('msg_') ? id : `msg_${id.replace(/^(?:chatcmpl-|resp_)/, '')}`;
}
