import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import { AppError } from '@gatehouse/kit/errors';
import { nearestSentence } from '@gatehouse/kit/nearest-names';
import type { ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { workDeadlineMs } from '@gatehouse/kit/bounds';

export type ModelCaller = Pick<Call, 'assertion' | 'requestId' | 'trace'>;

/** Checks models with chat, which owns the catalogue. */
export class ModelClient {
  readonly #peer: RpcClient<ChatServiceClient>;

  constructor(peer: RpcClient<ChatServiceClient>) {
    this.#peer = peer;
  }

  /** Throws `unknown_model`, naming the field, when the caller's tenant can't use one of them. */
  async assertUsable(
    caller: ModelCaller,
    models: readonly { field: string; model: string }[],
  ): Promise<void> {
    if (models.length === 0) return;
    const { assertion, requestId, trace } = caller;
    const request = { ids: [...new Set(models.map(({ model }) => model))] };
    // Longer than a look-up: chat asks tenant itself, and goes on with known settings when that hangs.
    const { unknownIds, nearest } = await this.#peer
      .call('checkModels', request, { deadlineMs: workDeadlineMs, assertion, requestId, trace })
      .catch(hangIsOutage);
    const unknown = models.find(({ model }) => unknownIds.includes(model));
    if (unknown === undefined) return;
    const message = `There is no model ${JSON.stringify(unknown.model)}.${nearestSentence(nearest)}`;
    throw new AppError('unknown_model', message, { param: unknown.field });
  }
}
