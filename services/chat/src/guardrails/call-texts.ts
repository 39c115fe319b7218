import type { TextRules } from '@gatehouse/dialects/text-view/text-rules';

const plainRules: Omit<TextRules, 'kind' | 'members'> = {
  ...{ list: '', names: new Set(['result']), kindOf: () => null, isOfModel: () => false },
  ...{ isSigned: () => false, isUnreadable: () => false, isSignedText: () => false, isThought: () => false },
  ...{ unsigned: 'null', unrepeated: 'null' },
};

/** The arguments of a call, and its result. */
export const argumentRules: TextRules = {
  ...plainRules,
  kind: 'tool_call',
  members: { arguments: 'values' },
};
export const resultRules: TextRules = { ...plainRules, kind: 'tool_result', members: {} };

const argumentsBegin = '{"arguments":';

/** A document with the arguments of a call. */
export function documentOf(argumentsJson: string): Buffer {
  return Buffer.from(`${argumentsBegin}${argumentsJson}}`);
}

/** Returns the arguments in a document of `documentOf`. */
export function argumentsIn(document: Buffer): string {
  return document.subarray(argumentsBegin.length, -1).toString();
}
