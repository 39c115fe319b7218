import { expect, it } from '@jest/globals';
import type { CallContext } from '@gatehouse/grpc/client';
import { continueTrace } from '@gatehouse/kit/trace-context';
import { ToolClient } from './tool-client.ts';

const actor = {
  ...{
    tenantId: 't',
    userId: 'ann',
    apiKeyId: null,
    groups: [],
    sees: '',
    proofFor: () => Promise.resolve(''),
  },
  ...{ requestId: 'r', trace: continueTrace(undefined) },
};

it.each(['agent', 'memory'])('gives the %s service 5 s beside the time limit of a tool', async (executor) => {
  const deadlines: number[] = [];
  const call = (_method: string, _request: object, { deadlineMs }: CallContext): Promise<object> => {
    deadlines.push(deadlineMs);
    return Promise.resolve({ content: 'done', outcome: 'ok' });
  };
  const client = new ToolClient({ call } as never, { call } as never);
  const tool = {
    ...{ name: 'look', serverId: 's', tool: 'look', repeatable: false, timeoutMs: 30_000, executor },
  };
  const called = { agentId: 'a', analyser: '', tool, argumentsJson: '{}' };
  expect(await client.call(actor, called, new AbortController().signal)).toMatchObject({ content: 'done' });
  expect(deadlines).toEqual([35_000]);
});
