import type { RpcClient } from '@gatehouse/grpc/client';
import type { MemoryServiceClient } from '@gatehouse/proto/memory/v1/memory';
import type { ForgetAgentOptions } from './forget-agent-job.ts';

const deadlineMs = 10_000;

export function forgetMemoryAt(memory: RpcClient<MemoryServiceClient>): ForgetAgentOptions['forgetMemory'] {
  return async (agent) => (await memory.call('agentDeleted', agent, { deadlineMs })).completed;
}
