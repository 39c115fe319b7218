import { rpcService, type Rpc, type RpcService } from '@gatehouse/grpc/rpc';
import { AppError } from '@gatehouse/kit/errors';
import { isUuid } from '@gatehouse/kit/ids';
import {
  ParticipantServiceService,
  type DescribeRequest,
  type DescribeResponse,
  type ForgetUserRequest,
  type ForgetUserResponse,
  type RunStepRequest,
  type RunStepResponse,
} from '@gatehouse/proto/participant/v1/participant';
import { takeDeletions, type DeletionInboxOptions } from './deletion-inbox.ts';
import type { Shell } from './shell.ts';

export interface Participation extends DeletionInboxOptions {
  /** The part in transfers between tenants; absent for a service without transferred resources. */
  transfers?: {
    describe: Rpc<DescribeRequest, DescribeResponse>;
    runStep: Rpc<RunStepRequest, RunStepResponse>;
  };
}

/**
 * The part of a service in what tenant carries out in all of them: takes deletions as events, and serves transfers. Release
 * 0.3.0 calls `ForgetUser` in place of the events; it goes with the release after the next.
 */
export function participant(
  shell: Shell,
  { transfers = noTransfers, ...deletions }: Participation,
): RpcService {
  const { forgetUser } = deletions;
  takeDeletions(shell, deletions);
  return rpcService(ParticipantServiceService, { forgetUser: forgetUserRpc(forgetUser), ...transfers });
}

function forgetUserRpc(work: DeletionInboxOptions['forgetUser']): Rpc<ForgetUserRequest, ForgetUserResponse> {
  return {
    callers: ['tenant'],
    handle: async ({ tenantId, userId, requestedAtMs }) => {
      if (!isUuid(tenantId) || userId === '')
        throw new AppError('invalid_value', 'A deletion needs a tenant and a user.');
      const requestedAt = new Date(Number(requestedAtMs));
      const { counts, completed } = await work({ tenantId, userId, requestedAt });
      const sent = Object.entries(counts).map(([kind, count]) => [kind, BigInt(count)] as const);
      return { counts: Object.fromEntries(sent), completed };
    },
  };
}

const noTransfers: Required<Participation>['transfers'] = {
  describe: {
    callers: ['tenant'],
    handle: () =>
      Promise.resolve({ resources: [], counts: [], dependencies: [], conflicts: [], problems: [] }),
  },
  runStep: { callers: ['tenant'], handle: () => Promise.resolve({ completed: true }) },
};
