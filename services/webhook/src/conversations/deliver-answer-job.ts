import type { JobHandler } from '@gatehouse/jobs/task';
import type { Queryable } from '@gatehouse/pg/pool';
import type { CallTexts } from '../calls/call-texts.ts';
import type { OpenChannels } from '../channels/open-channels.ts';
import type { Ground } from '../ground.ts';
import type { Ref } from '../shared/ref.ts';
import type { AnswerStore, PendingAnswer } from './answer-store.ts';
import type { ChannelTexts } from './channel-texts.ts';
import type { ReplyWriter } from './reply-writer.ts';
import { sealedReplies } from './sealed-replies.ts';

export interface DeliverAnswerDependencies extends Pick<Ground, 'tenants'> {
  answers: AnswerStore;
  callTexts: CallTexts;
  channels: OpenChannels;
  texts: ChannelTexts;
  writer: ReplyWriter;
  /** Sends the replies of a conversation, once the transaction commits. */
  send: (db: Queryable, conversation: Ref) => Promise<void>;
}

/** Stores the answer of a call as messages of a conversation, which are sent as replies are. */
export function deliverAnswer(dependencies: DeliverAnswerDependencies): JobHandler<{ callId: string }> {
  const { answers } = dependencies;
  return async ({ callId }, { tenantId, lastAttempt, signal, log }) => {
    const answer = await answers.find(tenantId, callId);
    if (answer === null) return;
    try {
      await store(dependencies, answer);
    } catch (error) {
      signal.throwIfAborted();
      if (!lastAttempt) throw error;
      log.error({ err: error, call_id: callId }, 'failed to store the answer of a call in a conversation');
      await answers.fail(answer, 'not_stored');
    }
  };
}

async function store(dependencies: DeliverAnswerDependencies, answer: PendingAnswer): Promise<void> {
  const { answers, callTexts, channels, tenants, send } = dependencies;
  const { tenantId, deliverTo } = answer;
  const channel = await channels.find(tenantId, deliverTo.channel_instance_id);
  if (channel === null) return answers.fail(answer, 'no_channel');
  const text = callTexts.openResult(answer, answer.result).output?.trim() ?? '';
  if (text === '') return answers.fail(answer, 'no_text');
  const adapter = channels.adapterOf(channel);
  const replies = await sealedReplies(dependencies, { tenantId, adapter }, [text]);
  const { retentionDays } = await tenants.settingsOf(tenantId);
  const isGroup = adapter.isGroup?.(deliverTo.conversation) ?? false;
  await answers.queue(answer, { replies, retentionDays, isGroup }, (db, id) => send(db, { tenantId, id }));
}
