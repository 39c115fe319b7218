import type { Model, modelList } from '@gatehouse/contract/chat';
import { errorBody } from '@gatehouse/kit/errors';
import type { z } from 'zod';
import type { ClientSurface } from '../client-surface.ts';
import type { UsableModel } from '../model-list.ts';

/** OpenAI's errors and lists of models, for clients of chat completions and of all routes without a dialect. */
export const openAiChatSurface = {
  error: (error, requestId) => ({ status: error.status, body: errorBody(error, requestId), headers: {} }),
  errorEvent: (error, requestId) => `data: ${JSON.stringify(errorBody(error, requestId))}\n\n`,
  model,
  models: ({ models, complete }, { client_version: version }): z.output<typeof modelList> => ({
    object: 'list',
    data: models.map(model),
    ...(!complete && { has_more: true }),
    ...(version !== undefined && { models: [] }),
  }),
} satisfies ClientSurface;

function model({ id, object, created, owned_by }: UsableModel): Model {
  return { id, object, created, owned_by };
}
