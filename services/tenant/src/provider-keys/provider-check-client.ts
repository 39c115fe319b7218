import type { RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage } from '@gatehouse/grpc/errors';
import type { Call } from '@gatehouse/http/app';
import { AppError, invalidValue } from '@gatehouse/kit/errors';
import { KeyVerdict, type ChatServiceClient } from '@gatehouse/proto/chat/v1/chat';
import { providerCheckMs } from '../bounds.ts';

/** A new key, encrypted. */
export interface KeyToCheck {
  id: string;
  provider: string;
  sealed: Buffer;
  models: readonly string[] | null;
}

/** Throws a 400 for an unusable key. */
export type CheckProviderKey = (call: Call, key: KeyToCheck) => Promise<void>;

/** Checks keys with chat, which knows the providers. */
export function providerCheck(chat: RpcClient<ChatServiceClient>): CheckProviderKey {
  return async (call, { models, ...key }) => {
    const { assertion, requestId, trace } = call;
    const request = { ...key, models: [...(models ?? [])] };
    const { verdict, unknownModel } = await chat
      .call('checkProviderKey', request, { deadlineMs: providerCheckMs, assertion, requestId, trace })
      .catch(hangIsOutage);
    const refusal = refusalOf(verdict, key.provider);
    if (refusal !== null) throw refusal;
    if (unknownModel !== undefined)
      throw new AppError(
        'unknown_model',
        `The provider has no model ${JSON.stringify(unknownModel)} that the tenant may use.`,
        { param: 'models' },
      );
  };
}

function refusalOf(verdict: KeyVerdict, provider: string): AppError | null {
  switch (verdict) {
    case KeyVerdict.UNKNOWN_PROVIDER:
      return invalidValue('provider', `there is no provider ${JSON.stringify(provider)}`);
    case KeyVerdict.NO_KEYS:
      return invalidValue('provider', 'the provider takes no keys of tenants');
    case KeyVerdict.REFUSED:
      return invalidValue('key', 'the provider refuses it');
    default:
      return null;
  }
}
