import type { Fields } from '@gatehouse/kit/fields';
import type { Answer, AnswerPart, StopReason } from '../translation/answer.ts';
import type { ReasoningSignature } from '../translation/conversation.ts';
import { writeJson } from '../wire/json-text.ts';
import { inputOf } from '../anthropic-messages/content-writer.ts';
import { markedBytes } from '../translation/signatures.ts';
import { writeUsage } from './usage.ts';

export const finishReasons: Readonly<Record<StopReason, string>> = {
  ...{ end: 'STOP', calls: 'STOP', sequence: 'STOP' },
  ...{ pause: 'MAX_TOKENS', length: 'MAX_TOKENS', context: 'MAX_TOKENS', refusal: 'SAFETY' },
};

/** See `AnswerApi`. */
export function writeAnswer({ id, model, parts, stop, usage }: Answer): string {
  const content = { role: 'model', parts: parts.flatMap(writtenPart) };
  return writeJson({
    candidates: [{ content, finishReason: finishReasons[stop.reason], index: 0 }],
    ...(usage !== null && { usageMetadata: writeUsage(usage) }),
    ...{ modelVersion: model, responseId: id },
  });
}

function writtenPart(part: AnswerPart): Fields[] {
  switch (part.kind) {
    case 'text':
    case 'refusal':
      return part.text === '' ? [] : [{ text: part.text }];
    case 'thinking':
      return [{ text: part.text, thought: true, ...signatureOf(part.signature) }];
    case 'call':
      return [callPart(part)];
  }
}

export function signatureOf(signature: ReasoningSignature | null): Fields {
  return signature === null ? {} : { thoughtSignature: markedBytes(signature) };
}

export function callPart({
  id,
  name,
  argumentsText,
}: {
  id: string;
  name: string;
  argumentsText: string;
}): Fields {
  return { functionCall: { id, name, args: inputOf(argumentsText) } };
}
