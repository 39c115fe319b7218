import type { ModelFacts } from './api.ts';
import type { Conversation } from './conversation.ts';
import type { DroppedFields } from './dropped-fields.ts';

/** The requested limit of tokens of an answer, within the model's own; null where the client leaves it to the model. */
export function limitOf(
  { maxTokens }: Pick<Conversation, 'maxTokens'>,
  { maxOutputTokens }: Pick<ModelFacts, 'maxOutputTokens'>,
  dropped: DroppedFields,
): number | null {
  if (maxTokens === null || maxOutputTokens === null || maxTokens <= maxOutputTokens) return maxTokens;
  dropped.ignoreField('maxTokens');
  return maxOutputTokens;
}
