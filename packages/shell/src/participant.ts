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

export interface UserDeletion {
  tenantId: string;
  userId: string;
  /** Data of the user from before that time is removed. */
  requestedAt: Date;
}

export interface Forgotten {
  /** Numbers of what this call has removed, by kind. */
  counts: Readonly<Record<string, number>>;
  /** False when more is to be removed. */
  completed: boolean;
}

export interface Participation {
  /** May be repeated. */
  forgetUser: (deletion: UserDeletion) => Promise<Forgotten>;
  /** The part in transfers between tenants; none for a service that owns nothing of what is transferred. */
  transfers?: {
    describe: Rpc<DescribeRequest, DescribeResponse>;
    runStep: Rpc<RunStepRequest, RunStepResponse>;
  };
}

/** The part of a service in what tenant carries out in all of them. */
export function participant({ forgetUser, transfers = noTransfers }: Participation): RpcService {
  return rpcService(ParticipantServiceService, { forgetUser: forgetUserRpc(forgetUser), ...transfers });
}

function forgetUserRpc(work: Participation['forgetUser']): Rpc<ForgetUserRequest, ForgetUserResponse> {
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
