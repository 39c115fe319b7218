import type { Model } from '@gatehouse/contract/chat';
import { AppError } from '@gatehouse/kit/errors';

/** The most models of a page, as in Anthropic's and Google's APIs. */
export const mostInPage = 1_000;

/** A model or an agent for a caller. `created` is 0 for models, since the catalogue has no dates. */
export interface UsableModel extends Model {
  /** Tokens of an answer at most, where the catalogue says. */
  maxOutputTokens?: number;
}

/** The models and agents available to a caller. */
export interface UsableModels {
  /** In the order of lists. */
  models: readonly UsableModel[];
  /** False if the list reached its size limit and agents are missing. */
  complete: boolean;
}

/** Reads a whole number from a query. Throws a 400. */
export function wholeNumber(param: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new AppError('invalid_value', `${param} must be a whole number.`, { param });
}

/** The index of the model named by a cursor. Throws a 400. */
export function indexOf(models: readonly UsableModel[], id: string, param: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index >= 0) return index;
  throw new AppError('invalid_cursor', `${param} names no model of the list.`, { param });
}
