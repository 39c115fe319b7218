import type {
  AnthropicModel,
  anthropicModelList,
  GoogleModel,
  googleModelList,
  Model as OpenAiModel,
  modelList,
  ModelQuery,
} from '@gatehouse/contract/chat';
import type { DialectName } from '@gatehouse/contract/dialects';
import { AppError } from '@gatehouse/kit/errors';
import type { z } from 'zod';

/** The most models of a page, as in Anthropic's and Google's APIs. */
const mostInPage = 1_000;

/** A model or an agent that a caller may use. `created` is 0 for models, since the catalogue has no dates. */
export interface UsableModel extends OpenAiModel {
  /** Tokens of an answer at most, where the catalogue says. */
  maxOutputTokens?: number;
}

/** The models and agents that a caller may use. */
export interface UsableModels {
  /** In the order of lists. */
  models: readonly UsableModel[];
  /** False if the list reached its size limit and agents are missing. */
  complete: boolean;
}

/** A model in the shape of a dialect. */
export function modelIn(
  dialect: DialectName,
  model: UsableModel,
): OpenAiModel | AnthropicModel | GoogleModel {
  switch (dialect) {
    case 'messages':
      return anthropic(model);
    case 'gemini':
      return google(model);
    case 'chat':
    case 'responses':
      return openAi(model);
  }
}

/**
 * A list in the shape of a dialect: whole, or the page that the query names. Throws 400s for a page that there is not.
 * Pages end where the list does, so only OpenAI's shape shows that agents are missing.
 */
export function listIn(dialect: DialectName, list: UsableModels, query: ModelQuery): unknown {
  switch (dialect) {
    case 'messages':
      return anthropicPage(list, query);
    case 'gemini':
      return googlePage(list, query);
    case 'chat':
    case 'responses':
      return openAiList(list, query);
  }
}

function openAiList(
  { models, complete }: UsableModels,
  { client_version: version }: ModelQuery,
): z.output<typeof modelList> {
  return {
    object: 'list',
    data: models.map(openAi),
    ...(!complete && { has_more: true }),
    ...(version !== undefined && { models: [] }),
  };
}

function openAi({ id, object, created, owned_by }: UsableModel): OpenAiModel {
  return { id, object, created, owned_by };
}

function anthropic({ id, created }: UsableModel): AnthropicModel {
  return { type: 'model', id, display_name: id, created_at: new Date(created * 1_000).toISOString() };
}

function google({ id, maxOutputTokens }: UsableModel): GoogleModel {
  const limit = maxOutputTokens === undefined ? {} : { outputTokenLimit: maxOutputTokens };
  return { name: `models/${id}`, version: '1', displayName: id, ...limit };
}

function anthropicPage(
  { models }: UsableModels,
  { limit, before_id: before, after_id: after }: ModelQuery,
): z.output<typeof anthropicModelList> {
  const size = limit === undefined ? 20 : wholeNumber('limit', limit);
  if (size < 1 || size > mostInPage)
    throw new AppError('invalid_value', `limit must be 1 to ${mostInPage}.`, { param: 'limit' });
  if (before !== undefined && after !== undefined)
    throw new AppError('invalid_value', 'before_id and after_id exclude each other.', { param: 'before_id' });
  const start = after === undefined ? 0 : indexOf(models, after, 'after_id') + 1;
  const end = before === undefined ? models.length : indexOf(models, before, 'before_id');
  const page = before === undefined ? models.slice(start, start + size) : models.slice(0, end).slice(-size);
  return {
    data: page.map(anthropic),
    has_more: page.length < end - start,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  };
}

function googlePage(
  { models }: UsableModels,
  { pageSize = '', pageToken = '' }: ModelQuery,
): z.output<typeof googleModelList> {
  // As Google's API has it: 0 is the default, and more than the most is the most.
  const size = Math.min(wholeNumber('pageSize', pageSize === '' ? '0' : pageSize) || 50, mostInPage);
  const start = pageToken === '' ? 0 : indexOf(models, idOf(pageToken), 'pageToken') + 1;
  const page = models.slice(start, start + size);
  const end = page.at(-1);
  const next =
    end === undefined || start + page.length >= models.length ? {} : { nextPageToken: tokenOf(end) };
  return { models: page.map(google), ...next };
}

function tokenOf({ id }: UsableModel): string {
  return Buffer.from(id).toString('base64url');
}

function idOf(token: string): string {
  return Buffer.from(token, 'base64url').toString();
}

function wholeNumber(param: string, given: string): number {
  if (/^\d{1,9}$/.test(given)) return Number(given);
  throw new AppError('invalid_value', `${param} must be a whole number.`, { param });
}

function indexOf(models: readonly UsableModel[], id: string, param: string): number {
  const index = models.findIndex((model) => model.id === id);
  if (index >= 0) return index;
  throw new AppError('invalid_cursor', `${param} names no model of the list.`, { param });
}
