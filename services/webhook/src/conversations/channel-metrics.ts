import { channelTypes, type ChannelType } from '@gatehouse/contract/channel-instances';
import { counter, type Registry } from '@gatehouse/kit/metrics';
import type { Sent } from '../channels/adapter.ts';

const taken = ['accepted', 'duplicate', 'ignored'] as const;
const ends = ['answered', 'failed'] as const;
const attempts: readonly Sent['kind'][] = ['sent', 'retry', 'paused', 'moved', 'rejected', 'unauthorized'];

export type ChannelMetrics = ReturnType<typeof channelMetrics>;

export function channelMetrics(registry: Registry) {
  const messages = counter(
    registry,
    'gatehouse_channel_messages_total',
    'Genuine messages of channels by outcome',
    ['type', 'outcome'],
  );
  const turns = counter(
    registry,
    'gatehouse_channel_turns_total',
    'Turns of conversations that have ended: answered by the agent, or failed',
    ['type', 'status'],
  );
  const replies = counter(
    registry,
    'gatehouse_channel_replies_total',
    'Attempts to send replies by outcome',
    ['type', 'outcome'],
  );
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
