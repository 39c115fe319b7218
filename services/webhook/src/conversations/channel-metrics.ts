import { channelTypes, type ChannelType } from '@gatehouse/contract/channel-instances';
import { Counter, type Registry } from '@gatehouse/kit/metrics';
import type { Sent } from '../channels/adapter.ts';

const taken = ['accepted', 'duplicate', 'ignored'] as const;
const ends = ['answered', 'failed'] as const;
const attempts: readonly Sent['kind'][] = ['sent', 'retry', 'paused', 'moved', 'rejected', 'unauthorized'];

export type ChannelMetrics = ReturnType<typeof channelMetrics>;

export function channelMetrics(registry: Registry) {
  const messages = new Counter({
    name: 'gatehouse_channel_messages_total',
    help: 'Genuine messages of channels by outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  });
  const turns = new Counter({
    name: 'gatehouse_channel_turns_total',
    help: 'Turns of conversations that have ended: answered by the agent, or failed',
    labelNames: ['type', 'status'],
    registers: [registry],
  });
  const replies = new Counter({
    name: 'gatehouse_channel_replies_total',
    help: 'Attempts to send replies by outcome',
    labelNames: ['type', 'outcome'],
    registers: [registry],
  });
  // An alert compares outcomes, so each must have a series before it happens.
  for (const type of channelTypes) {
    for (const outcome of taken) messages.inc({ type, outcome }, 0);
    for (const status of ends) turns.inc({ type, status }, 0);
    for (const outcome of attempts) replies.inc({ type, outcome }, 0);
  }
  return {
    taken: (type: ChannelType, outcome: (typeof taken)[number]) => messages.inc({ type, outcome }),
    ended: (type: ChannelType, status: (typeof ends)[number]) => turns.inc({ type, status }),
    attempted: (type: ChannelType, outcome: Sent['kind']) => replies.inc({ type, outcome }),
  };
}
